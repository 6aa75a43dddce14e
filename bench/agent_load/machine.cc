#include "bench/agent_load/machine.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "bench/agent_load/wording.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/websocket.h"

namespace remotist::bench {
namespace {

using namespace std::chrono_literals;
using protocol::AttemptKey;
using protocol::AttemptName;
using std::chrono::milliseconds;

constexpr std::int64_t kPauseMsMin = 500;
constexpr std::int64_t kPauseMsMax = 30'000;
constexpr auto kWelcomeWait = 20s;
constexpr std::size_t kAttemptsAtOnce = 256;
constexpr std::uint64_t kComplaintsMax = 5;  // of the same kind, then they are only counted

// No message is larger than these say, so that room is looked for before a message is put together.
constexpr std::size_t kMessageBytes = 1200;
constexpr std::size_t kAttemptBytes = 320;  // with the longest token that the protocol knows
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

Machine::Machine(Lent lent, const Behaviour& behaviour, Report& report, Journal& journal,
                 Surroundings& surroundings, std::uint64_t seed, std::uint64_t index)
    : id_(lent.id),
      token_(std::move(lent.token)),
      behaviour_(behaviour),
      report_(report),
      surroundings_(surroundings),
      chance_(seed, index),
      work_(behaviour, chance_, report, journal,
            [this](const AttemptKey& attempt) { surroundings_.upload(token_, attempt); }),
      pause_ms_(kPauseMsMin) {}

// --- connections

void Machine::opened(Time now) {
  if (phase_ != Phase::dialling) return surroundings_.hang_up(true);
  phase_ = Phase::greeting;
  window_ = Window{};
  heard_ = told_heard_ = 0;
  heard_bytes_ = 0;
  beat_waits_ = renew_waits_ = false;
  quiet_at_ = now + kWelcomeWait;
  auto keys = work_.keys();
  if (keys.size() > kAttemptsInOneMessage) keys.erase(keys.begin() + kAttemptsInOneMessage, keys.end());
  auto names = names_of(keys);
  say(protocol::Hello{.protocols = {protocol::kVersion},
                      .software = "agent_load " + std::to_string(protocol::kVersion),
                      .taking_jobs = true,
                      .attempts = std::move(keys)},
      Sent::Kind::hello, std::move(names), now);
}

void Machine::not_opened(int status, std::string_view why, Time now) {
  if (phase_ != Phase::dialling) return;
  if (status == 401 || status == 403) return retire("its token was not accepted", why);
  if (report_.not_connected++ < kComplaintsMax) {
    log::warn("not_connected", {{"machine", id_.text()}, {"status", status}, {"why", why}});
  }
  go_away(after_pause(now));
}

void Machine::closed(int code, std::string_view why, Time now) {
  if (phase_ == Phase::retired || phase_ == Phase::away) return;
  const bool is_news = report_.closes[std::to_string(code)]++ < kComplaintsMax;
  if (phase_ == Phase::leaving) return retire("", "");
  using enum websocket::CloseCode;
  if (is(code, replaced)) return retire("somebody else speaks for it", why);
  if (is(code, unauthenticated)) return retire("its token is no longer valid", why);
  if (is(code, unsupported)) return retire("the market does not speak this protocol", why);
  if (is_news && !is(code, going_away) && !is(code, session_ended)) {
    log::warn("closed", {{"machine", id_.text()}, {"close_code", code}, {"why", why}});
  }
  go_away(is(code, going_away) ? now + milliseconds{chance_.between(0, 100)} : after_pause(now));
}

void Machine::go_away(Time back) {
  phase_ = Phase::away;
  back_at_ = back;
  quiet_at_ = beat_at_ = renew_at_ = vanish_at_ = freeze_at_ = thaw_at_ = Time::max();
  work_.connection_lost();
}

Time Machine::after_pause(Time now) {
  const auto pause_ms = chance_.between(pause_ms_ / 2, pause_ms_);
  pause_ms_ = std::min(pause_ms_ * 2, kPauseMsMax);
  return now + milliseconds{pause_ms};
}

void Machine::retire(std::string_view what, std::string_view why) {
  go_away(Time::max());
  phase_ = Phase::retired;
  if (what.empty()) return;
  if (report_.retired++ < kComplaintsMax) {
    log::error("machine_retired", {{"machine", id_.text()}, {"what", what}, {"why", why}});
  }
}

void Machine::vanish(Time now) {
  ++report_.vanished;
  surroundings_.hang_up(false);
  go_away(now + milliseconds{behaviour_.vanish_ms});
  if (chance_.happens(behaviour_.amnesia)) work_.forget_all();
}

void Machine::freeze(Time now) {
  ++report_.frozen;
  thaw_at_ = now + milliseconds{behaviour_.freeze_ms};
  freeze_at_ = Time::max();
  surroundings_.set_frozen(true);
}

// --- time

Time Machine::due() const {
  if (phase_ == Phase::retired) return Time::max();
  if (thaw_at_ != Time::max()) return thaw_at_;
  if (phase_ == Phase::leaving) return Time::max();
  const Time connection = phase_ == Phase::away ? back_at_ : quiet_at_;
  return std::min({connection, beat_at_, renew_at_, vanish_at_, freeze_at_, work_.due()});
}

void Machine::wake(Time now) {
  if (due() > now) return;
  if (thaw_at_ != Time::max()) {
    thaw_at_ = Time::max();
    quiet_at_ = now + lease_;  // what has come meanwhile is still to be read
    freeze_at_ = now + chance_.until_next(behaviour_.freeze);
    surroundings_.set_frozen(false);
  }
  if (phase_ == Phase::away && back_at_ <= now) {
    phase_ = Phase::dialling;
    back_at_ = Time::max();
    surroundings_.dial(token_);
  }
  if (quiet_at_ <= now) {
    ++report_.closes["silent"];
    surroundings_.hang_up(false);
    go_away(after_pause(now));
  }
  work_.wake(now);
  if (freeze_at_ <= now) return freeze(now);
  if (vanish_at_ <= now) return vanish(now);
  if (beat_at_ <= now) {
    beat_at_ = now + beat_;
    beat_waits_ = true;
  }
  if (renew_at_ <= now) {
    renew_at_ = now + std::chrono::seconds{behaviour_.renew_seconds};
    renew_waits_ = true;
  }
  speak(now);
}

void Machine::uploaded(const AttemptName& attempt, const std::optional<std::string>& code, Time now) {
  if (phase_ == Phase::leaving || phase_ == Phase::retired) return;  // it was handed back
  work_.uploaded(attempt, code, now);
  speak(now);
}

void Machine::leave(bool rude, Time now) {
  if (phase_ == Phase::retired || phase_ == Phase::leaving) return;
  if (thaw_at_ != Time::max()) surroundings_.set_frozen(false);
  thaw_at_ = Time::max();
  if (rude || phase_ != Phase::present) {
    if (phase_ != Phase::away && phase_ != Phase::dialling) surroundings_.hang_up(false);
    return retire("", "");
  }
  phase_ = Phase::leaving;
  goodbye_waits_ = true;
  speak(now);
}

// --- hearing

void Machine::heard(std::string_view text, Time now) {
  if (phase_ != Phase::greeting && !connected()) return;
  const auto frame = protocol::read_from_market(text);
  if (!frame) {
    breach("unreadable", frame.refusal().detail);
    surroundings_.hang_up(true);
    return phase_ == Phase::leaving ? retire("", "") : go_away(after_pause(now));
  }
  count_heard(frame->number, text.size());
  if (phase_ == Phase::greeting && !std::holds_alternative<protocol::Welcome>(frame->body)) {
    breach("before_welcome", text.substr(0, 100));
  }
  quiet_at_ = now + (connected() ? lease_ : kWelcomeWait);
  // The body first: what a problem or a stop speaks of is not done, though acknowledged.
  std::visit([&](const auto& body) { take(body, now); }, frame->body);
  if (frame->ack != 0) settle(frame->ack, now);
}

void Machine::count_heard(std::int64_t number, std::size_t bytes) {
  if (number == 0) return;
  if (number != heard_ + 1) {
    breach("number", "came " + std::to_string(number) + " after " + std::to_string(heard_));
  }
  heard_ = number;
  heard_bytes_ += bytes;
  if (heard_ - told_heard_ > static_cast<std::int64_t>(limits::kUnackedMessagesMax) ||
      heard_bytes_ > limits::kUnackedBytesMax) {
    breach("too_much", std::to_string(heard_ - told_heard_) + " messages, " + std::to_string(heard_bytes_) +
                           " bytes without acknowledgement");
  }
}

void Machine::take(const protocol::Welcome& welcome, Time now) {
  if (phase_ != Phase::greeting) return breach("welcome_again", "");
  phase_ = Phase::present;
  ++report_.welcomes;
  if (welcomed_once_) ++report_.reconnects;
  welcomed_once_ = true;
  pause_ms_ = kPauseMsMin;
  beat_ = milliseconds{welcome.beat_ms};
  lease_ = milliseconds{welcome.lease_ms};
  quiet_at_ = now + lease_;
  // Machines that were welcomed together shall not beat together.
  beat_at_ = now + milliseconds{chance_.between(0, welcome.beat_ms)};
  if (behaviour_.renew_seconds > 0) renew_at_ = now + std::chrono::seconds{behaviour_.renew_seconds};
  if (behaviour_.vanish > 0) vanish_at_ = now + chance_.until_next(behaviour_.vanish);
  if (behaviour_.freeze > 0) freeze_at_ = now + chance_.until_next(behaviour_.freeze);

  const std::set<AttemptName> kept{welcome.keep.begin(), welcome.keep.end()};
  for (const auto& name : welcome.stop) work_.stop(name, "welcome", now);
  for (const auto& key : work_.keys()) {
    if (kept.contains(key.name)) continue;
    breach("left_out", "the welcome names neither to keep nor to stop " + key.name.job.text());
  }
  for (const auto& name : kept) {
    if (!work_.keep(name, now)) breach("kept_unknown", "the welcome keeps " + name.job.text());
  }
}

void Machine::take(const protocol::Assign& assign, Time now) {
  for (const auto& job : assign.jobs) work_.assign(job, now);
}

void Machine::take(const protocol::Stop& stop, Time now) {
  for (const auto& name : stop.attempts) {
    window_.strike_out(name);
    work_.stop(name, stop.reason, now);
  }
}

void Machine::take(const protocol::Token& token, Time) {
  token_ = token.token;
}

void Machine::take(const protocol::Problem& problem, Time now) {
  if (report_.problems[problem.code]++ < kComplaintsMax) {
    log::warn("problem", {{"machine", id_.text()}, {"code", problem.code}, {"detail", problem.detail}});
  }
  Sent* sent = window_.find(problem.re);
  if (sent == nullptr) return breach("problem_too_late", problem.code);
  std::vector<AttemptName> refused = sent->attempts;
  if (problem.attempt) std::erase_if(refused, [&](const auto& name) { return name != *problem.attempt; });
  for (const auto& name : refused) {
    std::erase(sent->attempts, name);
    if (sent->kind == Sent::Kind::accept || sent->kind == Sent::Kind::refuse) {
      work_.answer_not_done(name, problem.code, now);
    } else if (sent->kind == Sent::Kind::outcome) {
      work_.outcome_not_done(name, problem.code, now);
    }
  }
}

void Machine::settle(std::int64_t ack, Time now) {
  if (!window_.was_said(ack)) breach("ack_of_nothing", std::to_string(ack));
  for (const auto& sent : window_.acknowledged(ack)) {
    for (const auto& name : sent.attempts) {
      if (sent.kind == Sent::Kind::accept || sent.kind == Sent::Kind::refuse) {
        if (sent.kind == Sent::Kind::accept) report_.accept_to_ack.add(now - sent.at);
        work_.answer_acknowledged(name, now);
      } else if (sent.kind == Sent::Kind::outcome) {
        report_.outcome_to_ack.add(now - sent.at);
        work_.outcome_acknowledged(name, now);
      }
    }
    if (sent.kind == Sent::Kind::goodbye) {
      surroundings_.hang_up(true);
      return retire("", "");
    }
  }
}

void Machine::breach(std::string_view rule, std::string_view detail) {
  if (report_.breaches[std::string{rule}]++ >= kComplaintsMax) return;
  log::error("breach", {{"machine", id_.text()}, {"rule", rule}, {"detail", detail}});
}

// --- speaking

void Machine::speak(Time now) {
  if (!connected() || thaw_at_ != Time::max()) return;
  while (say_next(now)) {
  }
  if (heard_ == told_heard_) return;
  surroundings_.send(text_of(protocol::Frame<protocol::FromAgent>{0, heard_, protocol::Ack{}}));
  told_heard_ = heard_;
  heard_bytes_ = 0;
}

void Machine::say(protocol::FromAgent body, Sent::Kind kind, std::vector<AttemptName> about, Time now) {
  const auto text =
      worded(protocol::Frame<protocol::FromAgent>{window_.next_number(), heard_, std::move(body)});
  window_.sent({.kind = kind, .attempts = std::move(about), .at = now}, text.size());
  told_heard_ = heard_;
  heard_bytes_ = 0;
  surroundings_.send(text);
}

bool Machine::say_next(Time now) {
  if (phase_ == Phase::leaving) return say_goodbye(now);
  // Nothing overtakes what waits for room.
  if (!window_.has_room(kMessageBytes)) return false;
  if (say_accept(now) || say_refuse(now) || say_beat(now)) return true;
  if (renew_waits_) {
    renew_waits_ = false;
    say(protocol::Renew{}, Sent::Kind::renew, {}, now);
    return true;
  }
  return say_outcome(now);
}

bool Machine::say_accept(Time now) {
  const auto most = std::min(kAttemptsAtOnce, (window_.room_bytes() - kMessageBytes) / kAttemptBytes);
  auto keys = work_.take_accepts(most, now);
  if (keys.empty()) return false;
  auto names = names_of(keys);
  say(protocol::Accept{std::move(keys)}, Sent::Kind::accept, std::move(names), now);
  return true;
}

bool Machine::say_refuse(Time now) {
  const auto most = std::min(kAttemptsAtOnce, (window_.room_bytes() - kMessageBytes) / kAttemptBytes);
  auto keys = work_.take_refusals(most);
  if (keys.empty()) return false;
  auto names = names_of(keys);
  say(protocol::Refuse{std::move(keys), "agent_load was told to refuse"}, Sent::Kind::refuse,
      std::move(names), now);
  return true;
}

bool Machine::say_beat(Time now) {
  if (!beat_waits_) return false;
  auto running = work_.running(now);
  if (!window_.has_room(kMessageBytes + running.size() * kAttemptBytes)) return false;
  beat_waits_ = false;
  const auto jobs = static_cast<double>(running.size());
  say(protocol::Beat{.cpu_used = jobs,
                     .ram_mb_used = 64 * jobs,
                     .disc_mb_used = jobs,
                     .network_kb_per_s = jobs,
                     .attempts = std::move(running)},
      Sent::Kind::beat, {}, now);
  return true;
}

bool Machine::say_outcome(Time now) {
  const auto next = work_.next_outcome();
  const auto base64_bytes = [](std::size_t bytes) { return (bytes + 2) / 3 * 4; };
  if (!next || !window_.has_room(kMessageBytes + base64_bytes(next->file_bytes))) return false;
  auto said = work_.take_outcome();
  const auto name = said.outcome.attempt.name;
  say(std::move(said.outcome), said.aside ? Sent::Kind::aside : Sent::Kind::outcome, {name}, now);
  return true;
}

bool Machine::say_goodbye(Time now) {
  if (!goodbye_waits_ || !window_.has_room(kMessageBytes)) return false;
  goodbye_waits_ = false;
  auto keys = work_.hand_back((window_.room_bytes() - kMessageBytes) / kAttemptBytes);
  auto names = names_of(keys);
  say(protocol::Goodbye{"agent_load ends", std::move(keys)}, Sent::Kind::goodbye, std::move(names), now);
  return true;
}

}  // namespace remotist::bench
