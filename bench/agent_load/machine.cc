#include "bench/agent_load/machine.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>
#include <variant>

#include "bench/agent_load/encode.h"
#include "core/limits.h"
#include "core/log.h"
#include "core/websocket.h"

namespace remotist::bench {
namespace {

using namespace std::chrono_literals;
using protocol::AttemptKey;
using protocol::AttemptName;
using std::chrono::milliseconds;

constexpr std::int64_t kReconnectMsMin = 500;
constexpr std::int64_t kReconnectMsMax = 30'000;
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

Machine::Machine(MachineCredentials lent, const Behaviour& behaviour, Report& report, Journal& journal,
                 MachineIo& io, std::uint64_t seed, std::uint64_t index)
    : id_(lent.id),
      token_(std::move(lent.token)),
      behaviour_(behaviour),
      report_(report),
      io_(io),
      random_(seed, index),
      work_(behaviour, random_, report, journal,
            [this](const AttemptKey& attempt) { io_.upload(token_, attempt); }),
      reconnect_delay_ms_(kReconnectMsMin) {}

// --- connections

void Machine::on_connected(Time now) {
  if (phase_ != Phase::connecting) return io_.disconnect(true);
  phase_ = Phase::awaiting_welcome;
  window_ = {};
  received_ = acked_ = 0;
  received_bytes_ = 0;
  beat_pending_ = renew_pending_ = false;
  silence_deadline_ = now + kWelcomeWait;
  auto keys = work_.keys();
  if (keys.size() > kAttemptsInOneMessage) keys.erase(keys.begin() + kAttemptsInOneMessage, keys.end());
  auto names = names_of(keys);
  send(protocol::Hello{.protocols = {protocol::kVersion},
                       .software = "agent_load " + std::to_string(protocol::kVersion),
                       .taking_jobs = true,
                       .attempts = std::move(keys)},
       SentMessage::Kind::hello, std::move(names), now);
}

void Machine::on_connect_failed(int status, std::string_view why, Time now) {
  if (phase_ != Phase::connecting) return;
  if (status == 401 || status == 403) return retire("its token was not accepted", why);
  if (report_.not_connected++ < kComplaintsMax) {
    log::warn("not_connected", {{"machine", id_.text()}, {"status", status}, {"why", why}});
  }
  disconnected(next_reconnect(now));
}

void Machine::on_closed(int code, std::string_view why, Time now) {
  if (phase_ == Phase::retired || phase_ == Phase::disconnected) return;
  const bool is_news = report_.closes[std::to_string(code)]++ < kComplaintsMax;
  if (phase_ == Phase::leaving) return retire("", "");
  using enum websocket::CloseCode;
  if (is(code, replaced)) return retire("another agent has connected as it", why);
  if (is(code, unauthenticated)) return retire("its token is no longer valid", why);
  if (is(code, unsupported)) return retire("the market does not speak this protocol", why);
  if (is_news && !is(code, going_away) && !is(code, session_ended)) {
    log::warn("closed", {{"machine", id_.text()}, {"close_code", code}, {"why", why}});
  }
  disconnected(is(code, going_away) ? now + milliseconds{random_.between(0, 100)} : next_reconnect(now));
}

void Machine::disconnected(Time back) {
  phase_ = Phase::disconnected;
  reconnect_at_ = back;
  silence_deadline_ = beat_at_ = renew_at_ = vanish_at_ = freeze_at_ = thaw_at_ = Time::max();
  work_.connection_lost();
}

Time Machine::next_reconnect(Time now) {
  const auto pause_ms = random_.between(reconnect_delay_ms_ / 2, reconnect_delay_ms_);
  reconnect_delay_ms_ = std::min(reconnect_delay_ms_ * 2, kReconnectMsMax);
  return now + milliseconds{pause_ms};
}

void Machine::retire(std::string_view what, std::string_view why) {
  disconnected(Time::max());
  phase_ = Phase::retired;
  if (what.empty()) return;
  if (report_.retired++ < kComplaintsMax) {
    log::error("machine_retired", {{"machine", id_.text()}, {"what", what}, {"why", why}});
  }
}

void Machine::vanish(Time now) {
  ++report_.vanished;
  io_.disconnect(false);
  disconnected(now + milliseconds{behaviour_.vanish_ms});
  if (random_.happens(behaviour_.amnesia)) work_.forget_all();
}

void Machine::freeze(Time now) {
  ++report_.frozen;
  thaw_at_ = now + milliseconds{behaviour_.freeze_ms};
  freeze_at_ = Time::max();
  io_.set_frozen(true);
}

// --- time

Time Machine::due() const {
  if (phase_ == Phase::retired) return Time::max();
  if (thaw_at_ != Time::max()) return thaw_at_;
  if (phase_ == Phase::leaving) return Time::max();
  const Time connection = phase_ == Phase::disconnected ? reconnect_at_ : silence_deadline_;
  return std::min({connection, beat_at_, renew_at_, vanish_at_, freeze_at_, work_.due()});
}

void Machine::wake(Time now) {
  if (due() > now) return;
  if (thaw_at_ != Time::max()) {
    thaw_at_ = Time::max();
    silence_deadline_ = now + lease_;  // what has come meanwhile is still to be read
    freeze_at_ = now + random_.until_next(behaviour_.freeze);
    io_.set_frozen(false);
  }
  if (phase_ == Phase::disconnected && reconnect_at_ <= now) {
    phase_ = Phase::connecting;
    reconnect_at_ = Time::max();
    io_.connect(token_);
  }
  if (silence_deadline_ <= now) {
    ++report_.closes["silent"];
    io_.disconnect(false);
    disconnected(next_reconnect(now));
  }
  work_.wake(now);
  if (freeze_at_ <= now) return freeze(now);
  if (vanish_at_ <= now) return vanish(now);
  if (beat_at_ <= now) {
    beat_at_ = now + beat_interval_;
    beat_pending_ = true;
  }
  if (renew_at_ <= now) {
    renew_at_ = now + std::chrono::seconds{behaviour_.renew_seconds};
    renew_pending_ = true;
  }
  send_pending(now);
}

void Machine::uploaded(const AttemptName& attempt, const std::optional<std::string>& code, Time now) {
  if (phase_ == Phase::leaving || phase_ == Phase::retired) return;  // it was handed back
  work_.uploaded(attempt, code, now);
  send_pending(now);
}

void Machine::leave(bool rude, Time now) {
  if (phase_ == Phase::retired || phase_ == Phase::leaving) return;
  if (thaw_at_ != Time::max()) io_.set_frozen(false);
  thaw_at_ = Time::max();
  if (rude || phase_ != Phase::connected) {
    if (phase_ != Phase::disconnected && phase_ != Phase::connecting) io_.disconnect(false);
    return retire("", "");
  }
  phase_ = Phase::leaving;
  goodbye_pending_ = true;
  send_pending(now);
}

// --- messages from the market

void Machine::on_message(std::string_view text, Time now) {
  if (phase_ != Phase::awaiting_welcome && !connected()) return;
  const auto frame = protocol::read_from_market(text);
  if (!frame) {
    breach("unreadable", frame.refusal().detail);
    io_.disconnect(true);
    return phase_ == Phase::leaving ? retire("", "") : disconnected(next_reconnect(now));
  }
  count_received(frame->number, text.size());
  if (phase_ == Phase::awaiting_welcome && !std::holds_alternative<protocol::Welcome>(frame->body)) {
    breach("before_welcome", text.substr(0, 100));
  }
  silence_deadline_ = now + (connected() ? lease_ : kWelcomeWait);
  // The body before the acknowledgement: what a problem or a stop names was not done, though acknowledged.
  std::visit([&](const auto& body) { handle(body, now); }, frame->body);
  if (frame->ack != 0) on_ack(frame->ack, now);
}

void Machine::count_received(std::int64_t number, std::size_t bytes) {
  if (number == 0) return;
  if (number != received_ + 1) {
    breach("number", "came " + std::to_string(number) + " after " + std::to_string(received_));
  }
  received_ = number;
  received_bytes_ += bytes;
  if (received_ - acked_ > static_cast<std::int64_t>(limits::kUnackedMessagesMax) ||
      received_bytes_ > limits::kUnackedBytesMax) {
    breach("too_much", std::to_string(received_ - acked_) + " messages, " + std::to_string(received_bytes_) +
                           " bytes without acknowledgement");
  }
}

void Machine::handle(const protocol::Welcome& welcome, Time now) {
  if (phase_ != Phase::awaiting_welcome) return breach("welcome_again", "");
  phase_ = Phase::connected;
  ++report_.welcomes;
  if (welcomed_once_) ++report_.reconnects;
  welcomed_once_ = true;
  reconnect_delay_ms_ = kReconnectMsMin;
  beat_interval_ = milliseconds{welcome.beat_ms};
  lease_ = milliseconds{welcome.lease_ms};
  silence_deadline_ = now + lease_;
  // Spreads the beats of machines that connected at the same time.
  beat_at_ = now + milliseconds{random_.between(0, welcome.beat_ms)};
  if (behaviour_.renew_seconds > 0) renew_at_ = now + std::chrono::seconds{behaviour_.renew_seconds};
  if (behaviour_.vanish > 0) vanish_at_ = now + random_.until_next(behaviour_.vanish);
  if (behaviour_.freeze > 0) freeze_at_ = now + random_.until_next(behaviour_.freeze);

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

void Machine::handle(const protocol::Assign& assign, Time now) {
  for (const auto& job : assign.jobs) work_.assign(job, now);
}

void Machine::handle(const protocol::Stop& stop, Time now) {
  for (const auto& name : stop.attempts) {
    window_.for_each([&](SentMessage& message) { std::erase(message.attempts, name); });
    work_.stop(name, stop.reason, now);
  }
}

void Machine::handle(const protocol::Token& token, Time) {
  token_ = token.token;
}

void Machine::handle(const protocol::Problem& problem, Time now) {
  if (report_.problems[problem.code]++ < kComplaintsMax) {
    log::warn("problem", {{"machine", id_.text()}, {"code", problem.code}, {"detail", problem.detail}});
  }
  SentMessage* sent = window_.find(problem.re);
  if (sent == nullptr) return breach("problem_too_late", problem.code);
  std::vector<AttemptName> refused = sent->attempts;
  if (problem.attempt) std::erase_if(refused, [&](const auto& name) { return name != *problem.attempt; });
  for (const auto& name : refused) {
    std::erase(sent->attempts, name);
    if (sent->kind == SentMessage::Kind::accept || sent->kind == SentMessage::Kind::refuse) {
      work_.answer_rejected(name, problem.code, now);
    } else if (sent->kind == SentMessage::Kind::outcome) {
      work_.outcome_rejected(name, problem.code, now);
    }
  }
}

void Machine::on_ack(std::int64_t ack, Time now) {
  if (!window_.was_sent(ack)) breach("ack_of_nothing", std::to_string(ack));
  for (const auto& sent : window_.acknowledge(ack)) {
    for (const auto& name : sent.attempts) {
      if (sent.kind == SentMessage::Kind::accept || sent.kind == SentMessage::Kind::refuse) {
        if (sent.kind == SentMessage::Kind::accept) report_.accept_to_ack.add(now - sent.at);
        work_.answer_acknowledged(name, now);
      } else if (sent.kind == SentMessage::Kind::outcome) {
        report_.outcome_to_ack.add(now - sent.at);
        work_.outcome_acknowledged(name, now);
      }
    }
    if (sent.kind == SentMessage::Kind::goodbye) {
      io_.disconnect(true);
      return retire("", "");
    }
  }
}

void Machine::breach(std::string_view rule, std::string_view detail) {
  if (report_.breaches[std::string{rule}]++ >= kComplaintsMax) return;
  log::error("breach", {{"machine", id_.text()}, {"rule", rule}, {"detail", detail}});
}

// --- messages to the market

void Machine::send_pending(Time now) {
  if (!connected() || thaw_at_ != Time::max()) return;
  while (send_next(now)) {
  }
  if (received_ == acked_) return;
  io_.send(text_of(protocol::Frame<protocol::FromAgent>{0, received_, protocol::Ack{}}));
  acked_ = received_;
  received_bytes_ = 0;
}

void Machine::send(protocol::FromAgent body, SentMessage::Kind kind, std::vector<AttemptName> about,
                   Time now) {
  const auto text =
      encode(protocol::Frame<protocol::FromAgent>{window_.next_number(), received_, std::move(body)});
  if (!window_.has_room(text.size())) std::abort();  // or the market would close the connection
  window_.add({.kind = kind, .attempts = std::move(about), .at = now}, text.size());
  acked_ = received_;
  received_bytes_ = 0;
  io_.send(text);
}

bool Machine::send_next(Time now) {
  if (phase_ == Phase::leaving) return send_goodbye(now);
  // A message that waits for room is not overtaken.
  if (!window_.has_room(kMessageBytes)) return false;
  if (send_accept(now) || send_refuse(now) || send_beat(now)) return true;
  if (renew_pending_) {
    renew_pending_ = false;
    send(protocol::Renew{}, SentMessage::Kind::renew, {}, now);
    return true;
  }
  return send_outcome(now);
}

bool Machine::send_accept(Time now) {
  const auto most = std::min(kAttemptsAtOnce, (window_.room_bytes() - kMessageBytes) / kAttemptBytes);
  auto keys = work_.take_accepts(most, now);
  if (keys.empty()) return false;
  auto names = names_of(keys);
  send(protocol::Accept{std::move(keys)}, SentMessage::Kind::accept, std::move(names), now);
  return true;
}

bool Machine::send_refuse(Time now) {
  const auto most = std::min(kAttemptsAtOnce, (window_.room_bytes() - kMessageBytes) / kAttemptBytes);
  auto keys = work_.take_refusals(most);
  if (keys.empty()) return false;
  auto names = names_of(keys);
  send(protocol::Refuse{std::move(keys), "agent_load was told to refuse"}, SentMessage::Kind::refuse,
       std::move(names), now);
  return true;
}

bool Machine::send_beat(Time now) {
  if (!beat_pending_) return false;
  auto running = work_.running(now);
  if (!window_.has_room(kMessageBytes + running.size() * kAttemptBytes)) return false;
  beat_pending_ = false;
  const auto jobs = static_cast<double>(running.size());
  send(protocol::Beat{.cpu_used = jobs,
                      .ram_mb_used = 64 * jobs,
                      .disc_mb_used = jobs,
                      .network_kb_per_s = jobs,
                      .attempts = std::move(running)},
       SentMessage::Kind::beat, {}, now);
  return true;
}

bool Machine::send_outcome(Time now) {
  const auto next = work_.next_outcome();
  const auto base64_bytes = [](std::size_t bytes) { return (bytes + 2) / 3 * 4; };
  if (!next || !window_.has_room(kMessageBytes + base64_bytes(next->file_bytes))) return false;
  auto next_outcome = work_.take_outcome();
  const auto name = next_outcome.outcome.attempt.name;
  send(std::move(next_outcome.outcome),
       next_outcome.no_reply ? SentMessage::Kind::no_reply : SentMessage::Kind::outcome, {name}, now);
  return true;
}

bool Machine::send_goodbye(Time now) {
  if (!goodbye_pending_ || !window_.has_room(kMessageBytes)) return false;
  goodbye_pending_ = false;
  auto keys = work_.hand_back((window_.room_bytes() - kMessageBytes) / kAttemptBytes);
  auto names = names_of(keys);
  send(protocol::Goodbye{"agent_load ends", std::move(keys)}, SentMessage::Kind::goodbye, std::move(names),
       now);
  return true;
}

}  // namespace remotist::bench
