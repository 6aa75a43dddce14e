#include "volunteer/agent/machine_session.h"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "core/limits.h"
#include "core/log.h"
#include "core/websocket.h"
#include "volunteer/agent/encode.h"

namespace remotist::volunteer {
namespace {

using namespace std::chrono_literals;
using protocol::AttemptKey;
using protocol::AttemptName;
using std::chrono::milliseconds;

constexpr std::int64_t kReconnectMsMin = 500;
constexpr std::int64_t kReconnectMsMax = 30'000;
constexpr auto kWelcomeWait = 20s;
constexpr auto kProgressEvery = 500ms;
constexpr auto kRenewAgainAfter = 5min;
constexpr std::size_t kAttemptsAtOnce = 256;

// Estimates of message sizes: a message is made only when there is probably room for it.
constexpr std::size_t kMessageBytes = 2 * limits::kMessageTextBytesMax + 1200;
constexpr std::size_t kAttemptBytes = 320;  // with the longest token that the protocol knows
// Records leave so many bytes of the window free, so that beats are sent even when the market is slow to
// acknowledge records.
constexpr std::size_t kReservedForBeats = limits::kUnackedBytesMax / 4;
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

MachineSession::MachineSession(SessionIo& io, Attempts& attempts, std::string software, std::string token,
                               Clock::duration token_life, std::uint64_t seed)
    : io_(io),
      attempts_(attempts),
      software_(std::move(software)),
      token_(std::move(token)),
      token_life_(token_life),
      random_(seed),
      reconnect_delay_ms_(kReconnectMsMin) {}

// --- connections

void MachineSession::on_connected(Time now) {
  if (phase_ != Phase::connecting) return io_.disconnect(true);
  phase_ = Phase::awaiting_welcome;
  window_ = {};
  deferred_.reset();
  received_ = acked_ = 0;
  beat_pending_ = renew_pending_ = false;
  silence_deadline_ = now + kWelcomeWait;
  auto keys = attempts_.keys();
  if (keys.size() > kAttemptsInOneMessage) keys.erase(keys.begin() + kAttemptsInOneMessage, keys.end());
  auto names = names_of(keys);
  protocol::Hello hello{.protocols = {protocol::kVersion},
                        .software = software_,
                        .taking_jobs = taking_jobs_,
                        .attempts = std::move(keys)};
  describe(machine_software_, hello, limits::kFrameBytesMax - kMessageBytes - names.size() * kAttemptBytes);
  send(std::move(hello), SentMessage::Kind::hello, std::move(names), now);
}

void MachineSession::on_connect_failed(int status, std::string_view why, Time now) {
  if (phase_ != Phase::connecting) return;
  if (status == 401 || status == 403) return request_token();
  connection_error_ = "the market cannot be reached: " + std::string{why};
  log::warn("not_connected", {{"status", status}, {"why", why}});
  disconnected(next_reconnect(now));
}

void MachineSession::on_closed(int code, std::string_view why, Time now) {
  if (phase_ == Phase::ended || phase_ == Phase::disconnected) return;
  if (phase_ == Phase::leaving) return end();
  using enum websocket::CloseCode;
  if (is(code, replaced)) return reject_permanently("another agent has connected as this machine");
  if (is(code, unauthenticated)) return request_token();
  if (is(code, unsupported)) return reject_permanently("the market does not speak this agent's protocol");
  connection_error_ = "the connection was lost: " + std::string{why};
  log::warn("connection_lost", {{"close_code", code}, {"why", why}});
  const auto at_once = milliseconds{std::uniform_int_distribution<std::int64_t>{0, 100}(random_)};
  disconnected(is(code, going_away) ? now + at_once : next_reconnect(now));
}

void MachineSession::disconnected(Time reconnect_at) {
  phase_ = Phase::disconnected;
  reconnect_at_ = reconnect_at;
  silence_deadline_ = beat_at_ = renew_at_ = Time::max();
  attempts_.connection_lost();
}

Time MachineSession::next_reconnect(Time now) {
  const auto delay_ms = std::uniform_int_distribution{reconnect_delay_ms_ / 2, reconnect_delay_ms_}(random_);
  reconnect_delay_ms_ = std::min(reconnect_delay_ms_ * 2, kReconnectMsMax);
  return now + milliseconds{delay_ms};
}

void MachineSession::end() {
  disconnected(Time::max());
  phase_ = Phase::ended;
}

void MachineSession::request_token() {
  if (token_is_new_) return reject_permanently("the market accepts no token for this machine");
  token_is_new_ = true;
  disconnected(Time::max());
  phase_ = Phase::awaiting_token;
  io_.request_token();
}

void MachineSession::on_new_token(std::string token, Clock::duration token_life) {
  if (phase_ != Phase::awaiting_token) return;
  token_ = std::move(token);
  token_life_ = token_life;
  disconnected(Time{});
}

void MachineSession::on_token_failed(std::string_view why, bool permanent, Time now) {
  if (phase_ != Phase::awaiting_token) return;
  if (permanent) return reject_permanently(why);
  connection_error_ = why;
  token_is_new_ = false;
  disconnected(next_reconnect(now));
}

void MachineSession::reject_permanently(std::string_view why) {
  rejection_ = why;
  end();
}

// --- time

Time MachineSession::due() const {
  if (phase_ == Phase::ended) return Time::max();
  const Time connection = phase_ == Phase::disconnected ? reconnect_at_ : silence_deadline_;
  return std::min({connection, beat_at_, renew_at_, attempts_.due()});
}

void MachineSession::wake(Time now) {
  if (phase_ == Phase::ended) return;
  if (phase_ == Phase::disconnected && reconnect_at_ <= now) {
    phase_ = Phase::connecting;
    reconnect_at_ = Time::max();
    io_.connect(token_);
  }
  if (silence_deadline_ <= now) {
    connection_error_ = "the market sent nothing for a whole lease";
    log::warn("connection_lost", {{"why", "no message for a whole lease"}});
    io_.disconnect(false);
    if (phase_ == Phase::leaving) return end();
    disconnected(next_reconnect(now));
  }
  attempts_.wake(now);
  if (beat_at_ <= now) {
    beat_at_ = now + beat_interval_;
    beat_pending_ = true;
  }
  if (renew_at_ <= now) {
    renew_at_ = now + kRenewAgainAfter;
    renew_pending_ = true;
  }
  send_pending(now);
}

void MachineSession::set_taking_jobs(bool taking, Time now) {
  if (taking_jobs_ == taking) return;
  taking_jobs_ = taking;
  beat_pending_ = true;
  send_pending(now);
}

void MachineSession::leave(std::string_view reason, Time now) {
  if (phase_ == Phase::ended || phase_ == Phase::leaving) return;
  if (phase_ != Phase::connected) {
    if (phase_ == Phase::awaiting_welcome) io_.disconnect(false);
    attempts_.remove_all();
    return end();
  }
  phase_ = Phase::leaving;
  goodbye_reason_ = reason;
  goodbye_pending_ = true;
  send_pending(now);
}

// --- messages from the market

void MachineSession::on_message(std::string_view text, Time now) {
  if (phase_ != Phase::awaiting_welcome && !connected()) return;
  const auto frame = protocol::read_from_market(text);
  if (observer_ != nullptr) observer_->on_received(frame, text.size());
  if (!frame ||
      (phase_ == Phase::awaiting_welcome && !std::holds_alternative<protocol::Welcome>(frame->body))) {
    connection_error_ = "the server does not speak this agent's protocol";
    log::error("market_message_unreadable",
               {{"detail", frame ? "a message before the welcome" : frame.refusal().detail}});
    io_.disconnect(true);
    return phase_ == Phase::leaving ? end() : disconnected(next_reconnect(now));
  }
  received_ = std::max(received_, frame->number);
  // The body before the acknowledgement: what a problem or a stop names was not done, though acknowledged.
  std::visit([&](const auto& body) { handle(body, now); }, frame->body);
  if (phase_ == Phase::ended) return;
  silence_deadline_ = now + lease_;
  if (frame->ack != 0) on_ack(frame->ack, now);
}

void MachineSession::handle(const protocol::Welcome& welcome, Time now) {
  if (phase_ != Phase::awaiting_welcome) return;
  phase_ = Phase::connected;
  connection_error_.clear();
  token_is_new_ = false;
  log::info("connected",
            {{"machine_session", welcome.machine_session.text()}, {"kept", welcome.keep.size()}});
  reconnect_delay_ms_ = kReconnectMsMin;
  beat_interval_ = milliseconds{welcome.beat_ms};
  lease_ = milliseconds{welcome.lease_ms};
  // Spreads the beats of machines that connected at the same time.
  beat_at_ = now + milliseconds{std::uniform_int_distribution<std::int64_t>{0, welcome.beat_ms}(random_)};
  renew_at_ = now + token_life_ / 2;
  for (const auto& name : welcome.stop) attempts_.stop(name, "welcome");
  const std::set<AttemptName> kept{welcome.keep.begin(), welcome.keep.end()};
  // The market does not know the attempts that the welcome does not name.
  for (const auto& key : attempts_.keys()) {
    if (!kept.contains(key.name)) attempts_.stop(key.name, "welcome");
  }
  for (const auto& name : kept) (void)attempts_.keep(name);
}

void MachineSession::handle(const protocol::Assign& assign, Time) {
  if (phase_ == Phase::leaving) return;
  for (const auto& job : assign.jobs) attempts_.assign(job);
}

void MachineSession::handle(const protocol::Stop& stop, Time) {
  for (const auto& name : stop.attempts) {
    // The market has not done what unacknowledged messages report about it.
    window_.for_each([&](SentMessage& message) { std::erase(message.attempts, name); });
    if (deferred_ && deferred_->about == std::vector{name}) deferred_.reset();
    attempts_.stop(name, stop.reason);
  }
}

void MachineSession::handle(const protocol::HandOver& hand_over, Time now) {
  for (const auto& name : hand_over.attempts) attempts_.hand_over(name, hand_over.reason, now);
}

void MachineSession::handle(const protocol::Token& token, Time now) {
  token_ = token.token;
  renew_at_ = now + token_life_ / 2;
  io_.store_token(token);
}

void MachineSession::handle(const protocol::Problem& problem, Time now) {
  log::warn("problem", {{"code", problem.code}, {"detail", problem.detail}});
  SentMessage* sent = window_.find(problem.re);
  if (sent == nullptr) return;
  std::vector<AttemptName> refused = sent->attempts;
  if (problem.attempt) std::erase_if(refused, [&](const auto& name) { return name != *problem.attempt; });
  for (const auto& name : refused) std::erase(sent->attempts, name);
  reject(sent->kind, refused, problem.code, problem.detail, now);
}

void MachineSession::reject(SentMessage::Kind kind, const std::vector<AttemptName>& about,
                            std::string_view code, std::string_view detail, Time now) {
  for (const auto& name : about) {
    if (kind == SentMessage::Kind::accept || kind == SentMessage::Kind::refuse) {
      attempts_.answer_rejected(name, code, now);
    } else if (kind == SentMessage::Kind::outcome) {
      attempts_.outcome_rejected(name, code, detail, now);
    } else if (kind == SentMessage::Kind::records) {
      attempts_.records_rejected(name, code, now);
    }
  }
}

void MachineSession::on_ack(std::int64_t number, Time now) {
  for (const auto& sent : window_.acknowledge(number)) {
    if (observer_ != nullptr) observer_->on_acknowledged(sent);
    for (const auto& name : sent.attempts) {
      if (sent.kind == SentMessage::Kind::accept || sent.kind == SentMessage::Kind::refuse)
        attempts_.answer_acknowledged(name);
      if (sent.kind == SentMessage::Kind::outcome) attempts_.outcome_acknowledged(name);
      if (sent.kind == SentMessage::Kind::records) attempts_.records_acknowledged(name, now);
    }
    if (sent.kind == SentMessage::Kind::goodbye) {
      io_.disconnect(true);
      return end();
    }
  }
}

// --- messages to the market

void MachineSession::send_pending(Time now) {
  if (!connected()) return;
  while (send_next(now)) {
  }
  if (received_ == acked_) return;
  const protocol::Frame<protocol::FromAgent> ack{0, received_, protocol::Ack{}};
  transmit(ack, text_of(ack));
}

void MachineSession::transmit(const protocol::Frame<protocol::FromAgent>& frame, std::string_view text) {
  acked_ = frame.ack;
  if (observer_ != nullptr) observer_->on_sent(frame);
  io_.send(text);
}

void MachineSession::send(protocol::FromAgent body, SentMessage::Kind kind, std::vector<AttemptName> about,
                          Time now) {
  protocol::Frame<protocol::FromAgent> frame{window_.next_number(), received_, std::move(body)};
  const auto text = encode(frame);
  if (!text) {
    log::error("message_not_encodable", {{"why", text.refusal().detail}, {"attempts", about.size()}});
    reject(kind, about, row_of(text.refusal().code).name, text.refusal().detail, now);
    return;
  }
  if (!window_.has_room(text->size())) {
    deferred_.emplace(std::move(frame.body), kind, std::move(about));
    return;
  }
  window_.add({.kind = kind, .attempts = std::move(about), .at = now}, text->size());
  transmit(frame, *text);
}

bool MachineSession::send_next(Time now) {
  if (deferred_) {
    auto [body, kind, about] = std::move(*std::exchange(deferred_, std::nullopt));
    send(std::move(body), kind, std::move(about), now);
    return !deferred_;
  }
  // A message that waits for room is not overtaken.
  if (!window_.has_room(kMessageBytes)) return false;
  if (phase_ == Phase::leaving && !goodbye_pending_) return false;
  if (send_outcome(now)) return true;
  if (phase_ == Phase::leaving) return send_goodbye(now);
  if (send_answers(now) || send_beat(now)) return true;
  if (renew_pending_) {
    renew_pending_ = false;
    send(protocol::Renew{}, SentMessage::Kind::renew, {}, now);
    return true;
  }
  return send_progress(now) || send_records(now);
}

bool MachineSession::send_answers(Time now) {
  const auto count_max = std::min(kAttemptsAtOnce, (window_.room_bytes() - kMessageBytes) / kAttemptBytes);
  if (auto keys = attempts_.take_accepts(count_max); !keys.empty()) {
    auto names = names_of(keys);
    send(protocol::Accept{std::move(keys)}, SentMessage::Kind::accept, std::move(names), now);
    return true;
  }
  auto refusals = attempts_.take_refusals(count_max);
  if (refusals.attempts.empty()) return false;
  auto names = names_of(refusals.attempts);
  send(protocol::Refuse{std::move(refusals.attempts), std::move(refusals.reason)}, SentMessage::Kind::refuse,
       std::move(names), now);
  return true;
}

bool MachineSession::send_beat(Time now) {
  if (!beat_pending_) return false;
  auto running = attempts_.running();
  if (!window_.has_room(kMessageBytes + running.size() * kAttemptBytes)) return false;
  beat_pending_ = false;
  auto beat = io_.read_gauges();
  beat.taking_jobs = taking_jobs_;
  beat.attempts = std::move(running);
  send(std::move(beat), SentMessage::Kind::beat, {}, now);
  return true;
}

bool MachineSession::send_progress(Time now) {
  if (progress_not_before_ > now) return false;
  auto progress = attempts_.take_progress();
  if (!progress) {
    progress_not_before_ = now + kProgressEvery;
    return false;
  }
  send(std::move(*progress), SentMessage::Kind::no_reply, {}, now);
  return true;
}

bool MachineSession::send_records(Time now) {
  // An outcome that waits for room goes first.
  if (attempts_.next_outcome_bytes()) return false;
  const auto room = window_.room_bytes();
  if (room <= kReservedForBeats + kMessageBytes) return false;
  auto records = attempts_.take_records(room - kReservedForBeats - kMessageBytes, now);
  if (!records) return false;
  const auto name = records->attempt.name;
  send(std::move(*records), SentMessage::Kind::records, {name}, now);
  return true;
}

bool MachineSession::send_outcome(Time now) {
  const auto bytes = attempts_.next_outcome_bytes();
  if (!bytes || !window_.has_room(kMessageBytes + *bytes)) return false;
  auto next = attempts_.take_outcome();
  const auto name = next.outcome.attempt.name;
  send(std::move(next.outcome), next.no_reply ? SentMessage::Kind::no_reply : SentMessage::Kind::outcome,
       {name}, now);
  return true;
}

bool MachineSession::send_goodbye(Time now) {
  goodbye_pending_ = false;
  auto keys = attempts_.hand_back((window_.room_bytes() - kMessageBytes) / kAttemptBytes);
  auto names = names_of(keys);
  send(protocol::Goodbye{goodbye_reason_, std::move(keys)}, SentMessage::Kind::goodbye, std::move(names),
       now);
  return true;
}

}  // namespace remotist::volunteer
