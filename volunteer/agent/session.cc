#include "volunteer/agent/session.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "core/limits.h"
#include "core/log.h"
#include "core/websocket.h"

namespace remotist::volunteer {
namespace {

using namespace std::chrono_literals;
using protocol::AttemptKey;
using protocol::AttemptName;
using std::chrono::milliseconds;

constexpr std::int64_t kPauseMsMin = 500;
constexpr std::int64_t kPauseMsMax = 30'000;
constexpr auto kWelcomeWait = 20s;
constexpr auto kProgressEvery = 500ms;
constexpr auto kRenewAgainAfter = 5min;
constexpr std::size_t kAttemptsAtOnce = 256;

// Messages are about as large as these say: a message is put together only when there is likely room for it.
constexpr std::size_t kMessageBytes = 2 * limits::kMessageTextBytesMax + 1200;
constexpr std::size_t kAttemptBytes = 320;  // with the longest token that the protocol knows
// A market whose database is slow acknowledges no records, and must still hear beats.
constexpr std::size_t kKeptForBeats = limits::kUnackedBytesMax / 4;
constexpr std::size_t kAttemptsInOneMessage = (limits::kUnackedBytesMax - kMessageBytes) / kAttemptBytes;

std::vector<AttemptName> names_of(const std::vector<AttemptKey>& keys) {
  std::vector<AttemptName> names;
  names.reserve(keys.size());
  for (const auto& key : keys) names.push_back(key.name);
  return names;
}

bool is(int code, websocket::CloseCode known) {
  return code == static_cast<int>(known);
}

}  // namespace

Session::Session(Surroundings& surroundings, Jobs& jobs, std::string token, Clock::duration token_life,
                 std::uint64_t seed)
    : surroundings_(surroundings),
      jobs_(jobs),
      token_(std::move(token)),
      token_life_(token_life),
      chance_(seed),
      pause_ms_(kPauseMsMin) {}

// --- connections

void Session::opened(Time now) {
  if (phase_ != Phase::dialling) return surroundings_.hang_up(true);
  phase_ = Phase::greeting;
  window_ = Window{};
  waiting_.reset();
  heard_ = told_heard_ = 0;
  beat_waits_ = renew_waits_ = false;
  quiet_at_ = now + kWelcomeWait;
  auto keys = jobs_.keys();
  if (keys.size() > kAttemptsInOneMessage) keys.erase(keys.begin() + kAttemptsInOneMessage, keys.end());
  auto names = names_of(keys);
  say(protocol::Hello{.protocols = {protocol::kVersion},
                      .software = "remotist volunteer-agent " + std::to_string(protocol::kVersion),
                      .taking_jobs = taking_jobs_,
                      .attempts = std::move(keys)},
      Sent::Kind::hello, std::move(names), now);
}

void Session::not_opened(int status, std::string_view why, Time now) {
  if (phase_ != Phase::dialling) return;
  if (status == 401 || status == 403) return ask_for_token();
  trouble_ = "the market cannot be reached: " + std::string{why};
  log::warn("not_connected", {{"status", status}, {"why", why}});
  go_away(after_pause(now));
}

void Session::closed(int code, std::string_view why, Time now) {
  if (phase_ == Phase::over || phase_ == Phase::away) return;
  if (phase_ == Phase::leaving) return end();
  using enum websocket::CloseCode;
  if (is(code, replaced)) return turn_away("another agent speaks for this machine");
  if (is(code, unauthenticated)) return ask_for_token();
  if (is(code, unsupported)) return turn_away("the market does not speak this agent's protocol");
  trouble_ = "the connection was lost: " + std::string{why};
  log::warn("connection_lost", {{"close_code", code}, {"why", why}});
  const auto at_once = milliseconds{std::uniform_int_distribution<std::int64_t>{0, 100}(chance_)};
  go_away(is(code, going_away) ? now + at_once : after_pause(now));
}

void Session::go_away(Time back) {
  phase_ = Phase::away;
  back_at_ = back;
  quiet_at_ = beat_at_ = renew_at_ = Time::max();
  jobs_.connection_lost();
}

Time Session::after_pause(Time now) {
  const auto pause_ms = std::uniform_int_distribution{pause_ms_ / 2, pause_ms_}(chance_);
  pause_ms_ = std::min(pause_ms_ * 2, kPauseMsMax);
  return now + milliseconds{pause_ms};
}

void Session::end() {
  go_away(Time::max());
  phase_ = Phase::over;
}

void Session::ask_for_token() {
  if (token_is_fresh_) return turn_away("the market accepts no token for this machine");
  token_is_fresh_ = true;
  go_away(Time::max());
  phase_ = Phase::unknown;
  surroundings_.ask_for_token();
}

void Session::new_token(std::string token, Clock::duration token_life) {
  if (phase_ != Phase::unknown) return;
  token_ = std::move(token);
  token_life_ = token_life;
  go_away(Time{});
}

void Session::no_token(std::string_view why, bool for_good, Time now) {
  if (phase_ != Phase::unknown) return;
  if (for_good) return turn_away(why);
  trouble_ = why;
  token_is_fresh_ = false;
  go_away(after_pause(now));
}

void Session::turn_away(std::string_view why) {
  log::error("turned_away", {{"why", why}});
  turned_away_ = why;
  end();
}

// --- time

Time Session::due() const {
  if (phase_ == Phase::over) return Time::max();
  const Time connection = phase_ == Phase::away ? back_at_ : quiet_at_;
  return std::min({connection, beat_at_, renew_at_, jobs_.due()});
}

void Session::wake(Time now) {
  if (phase_ == Phase::over) return;
  if (phase_ == Phase::away && back_at_ <= now) {
    phase_ = Phase::dialling;
    back_at_ = Time::max();
    surroundings_.dial(token_);
  }
  if (quiet_at_ <= now) {
    trouble_ = "the market fell silent";
    log::warn("connection_lost", {{"why", "nothing was heard for a whole lease"}});
    surroundings_.hang_up(false);
    if (phase_ == Phase::leaving) return end();
    go_away(after_pause(now));
  }
  jobs_.wake(now);
  if (beat_at_ <= now) {
    beat_at_ = now + beat_;
    beat_waits_ = true;
  }
  if (renew_at_ <= now) {
    renew_at_ = now + kRenewAgainAfter;
    renew_waits_ = true;
  }
  speak(now);
}

void Session::take_jobs(bool taking, Time now) {
  if (taking_jobs_ == taking) return;
  taking_jobs_ = taking;
  beat_waits_ = true;
  speak(now);
}

void Session::leave(std::string_view reason, Time now) {
  if (phase_ == Phase::over || phase_ == Phase::leaving) return;
  if (phase_ != Phase::present) {
    if (phase_ == Phase::greeting) surroundings_.hang_up(false);
    jobs_.drop_all();
    return end();
  }
  phase_ = Phase::leaving;
  goodbye_reason_ = reason;
  goodbye_waits_ = true;
  speak(now);
}

// --- hearing

void Session::heard(std::string_view text, Time now) {
  if (phase_ != Phase::greeting && !present()) return;
  const auto frame = protocol::read_from_market(text);
  if (!frame || (phase_ == Phase::greeting && !std::holds_alternative<protocol::Welcome>(frame->body))) {
    trouble_ = "what answers there does not speak this agent's protocol";
    log::error("unreadable", {{"detail", frame ? "a message before the welcome" : frame.refusal().detail}});
    surroundings_.hang_up(true);
    return phase_ == Phase::leaving ? end() : go_away(after_pause(now));
  }
  heard_ = std::max(heard_, frame->number);
  // The body first: what a problem or a stop speaks of is not done, though acknowledged.
  std::visit([&](const auto& body) { take(body, now); }, frame->body);
  if (phase_ == Phase::over) return;
  quiet_at_ = now + lease_;
  if (frame->ack != 0) settle(frame->ack, now);
}

void Session::take(const protocol::Welcome& welcome, Time now) {
  if (phase_ != Phase::greeting) return;
  phase_ = Phase::present;
  trouble_.clear();
  token_is_fresh_ = false;
  log::info("connected", {{"session", welcome.session.text()}, {"kept", welcome.keep.size()}});
  pause_ms_ = kPauseMsMin;
  beat_ = milliseconds{welcome.beat_ms};
  lease_ = milliseconds{welcome.lease_ms};
  // Machines that were welcomed together shall not beat together.
  beat_at_ = now + milliseconds{std::uniform_int_distribution<std::int64_t>{0, welcome.beat_ms}(chance_)};
  renew_at_ = now + token_life_ / 2;
  for (const auto& name : welcome.stop) jobs_.stop(name, "welcome");
  const std::set<AttemptName> kept{welcome.keep.begin(), welcome.keep.end()};
  // Nobody wants what the market does not name.
  for (const auto& key : jobs_.keys()) {
    if (!kept.contains(key.name)) jobs_.stop(key.name, "welcome");
  }
  for (const auto& name : kept) (void)jobs_.keep(name);
}

void Session::take(const protocol::Assign& assign, Time) {
  if (phase_ == Phase::leaving) return;
  for (const auto& job : assign.jobs) jobs_.assign(job);
}

void Session::take(const protocol::Stop& stop, Time) {
  for (const auto& name : stop.attempts) {
    window_.strike_out(name);
    if (waiting_ && waiting_->about == std::vector{name}) waiting_.reset();
    jobs_.stop(name, stop.reason);
  }
}

void Session::take(const protocol::Token& token, Time now) {
  token_ = token.token;
  renew_at_ = now + token_life_ / 2;
  surroundings_.keep_token(token);
}

void Session::take(const protocol::Problem& problem, Time now) {
  log::warn("problem", {{"code", problem.code}, {"detail", problem.detail}});
  Sent* sent = window_.find(problem.re);
  if (sent == nullptr) return;
  std::vector<AttemptName> refused = sent->attempts;
  if (problem.attempt) std::erase_if(refused, [&](const auto& name) { return name != *problem.attempt; });
  for (const auto& name : refused) std::erase(sent->attempts, name);
  not_done(sent->kind, refused, problem.code, problem.detail, now);
}

void Session::not_done(Sent::Kind kind, const std::vector<AttemptName>& about, std::string_view code,
                       std::string_view detail, Time now) {
  for (const auto& name : about) {
    if (kind == Sent::Kind::accept || kind == Sent::Kind::refuse) {
      jobs_.answer_not_done(name, code, now);
    } else if (kind == Sent::Kind::outcome) {
      jobs_.outcome_not_done(name, code, detail, now);
    } else if (kind == Sent::Kind::partials) {
      jobs_.partials_not_done(name, code, now);
    }
  }
}

void Session::settle(std::int64_t ack, Time now) {
  for (const auto& sent : window_.acknowledged(ack)) {
    for (const auto& name : sent.attempts) {
      if (sent.kind == Sent::Kind::accept || sent.kind == Sent::Kind::refuse) jobs_.answer_acknowledged(name);
      if (sent.kind == Sent::Kind::outcome) jobs_.outcome_acknowledged(name);
      if (sent.kind == Sent::Kind::partials) jobs_.partials_acknowledged(name, now);
    }
    if (sent.kind == Sent::Kind::goodbye) {
      surroundings_.hang_up(true);
      return end();
    }
  }
}

// --- speaking

void Session::speak(Time now) {
  if (!present()) return;
  while (say_next(now)) {
  }
  if (heard_ == told_heard_) return;
  surroundings_.send(text_of(protocol::Frame<protocol::FromAgent>{0, heard_, protocol::Ack{}}));
  told_heard_ = heard_;
}

void Session::say(protocol::FromAgent body, Sent::Kind kind, std::vector<AttemptName> about, Time now) {
  protocol::Frame<protocol::FromAgent> frame{window_.next_number(), heard_, std::move(body)};
  const auto text = text_of(frame);
  // Whatever a job made us say, the market must be able to read it, or it would close the connection.
  if (const auto read = protocol::read_from_agent(text); !read) {
    log::error("message_unreadable", {{"why", read.refusal().detail}, {"attempts", about.size()}});
    not_done(kind, about, row_of(read.refusal().code).name, read.refusal().detail, now);
    return;
  }
  if (!window_.has_room(text.size())) {
    waiting_.emplace(std::move(frame.body), kind, std::move(about));
    return;
  }
  window_.sent({.kind = kind, .attempts = std::move(about), .at = now}, text.size());
  told_heard_ = heard_;
  surroundings_.send(text);
}

bool Session::say_next(Time now) {
  if (waiting_) {
    auto [body, kind, about] = std::move(*std::exchange(waiting_, std::nullopt));
    say(std::move(body), kind, std::move(about), now);
    return !waiting_;
  }
  // Nothing overtakes what waits for room.
  if (!window_.has_room(kMessageBytes)) return false;
  if (phase_ == Phase::leaving && !goodbye_waits_) return false;
  if (say_outcome(now)) return true;
  if (phase_ == Phase::leaving) return say_goodbye(now);
  if (say_answers(now) || say_beat(now)) return true;
  if (renew_waits_) {
    renew_waits_ = false;
    say(protocol::Renew{}, Sent::Kind::renew, {}, now);
    return true;
  }
  return say_progress(now) || say_partials(now);
}

bool Session::say_answers(Time now) {
  const auto most = std::min(kAttemptsAtOnce, (window_.room_bytes() - kMessageBytes) / kAttemptBytes);
  if (auto keys = jobs_.take_accepts(most); !keys.empty()) {
    auto names = names_of(keys);
    say(protocol::Accept{std::move(keys)}, Sent::Kind::accept, std::move(names), now);
    return true;
  }
  auto refusals = jobs_.take_refusals(most);
  if (refusals.attempts.empty()) return false;
  auto names = names_of(refusals.attempts);
  say(protocol::Refuse{std::move(refusals.attempts), std::move(refusals.reason)}, Sent::Kind::refuse,
      std::move(names), now);
  return true;
}

bool Session::say_beat(Time now) {
  if (!beat_waits_) return false;
  auto running = jobs_.running();
  if (!window_.has_room(kMessageBytes + running.size() * kAttemptBytes)) return false;
  beat_waits_ = false;
  auto beat = surroundings_.readings();
  beat.taking_jobs = taking_jobs_;
  beat.attempts = std::move(running);
  say(std::move(beat), Sent::Kind::beat, {}, now);
  return true;
}

bool Session::say_progress(Time now) {
  if (progress_at_ > now) return false;
  auto progress = jobs_.take_progress();
  if (!progress) {
    progress_at_ = now + kProgressEvery;
    return false;
  }
  say(std::move(*progress), Sent::Kind::aside, {}, now);
  return true;
}

bool Session::say_partials(Time now) {
  // An outcome that waits for room gets it.
  if (jobs_.next_outcome_bytes()) return false;
  const auto room = window_.room_bytes();
  if (room <= kKeptForBeats + kMessageBytes) return false;
  auto partials = jobs_.take_partials(room - kKeptForBeats - kMessageBytes, now);
  if (!partials) return false;
  const auto name = partials->attempt.name;
  say(std::move(*partials), Sent::Kind::partials, {name}, now);
  return true;
}

bool Session::say_outcome(Time now) {
  const auto bytes = jobs_.next_outcome_bytes();
  if (!bytes || !window_.has_room(kMessageBytes + *bytes)) return false;
  auto said = jobs_.take_outcome();
  const auto name = said.outcome.attempt.name;
  say(std::move(said.outcome), said.aside ? Sent::Kind::aside : Sent::Kind::outcome, {name}, now);
  return true;
}

bool Session::say_goodbye(Time now) {
  goodbye_waits_ = false;
  auto keys = jobs_.hand_back((window_.room_bytes() - kMessageBytes) / kAttemptBytes);
  auto names = names_of(keys);
  say(protocol::Goodbye{goodbye_reason_, std::move(keys)}, Sent::Kind::goodbye, std::move(names), now);
  return true;
}

}  // namespace remotist::volunteer
