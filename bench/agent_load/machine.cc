#include "bench/agent_load/machine.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/log.h"
#include "core/websocket.h"

namespace remotist::bench {
namespace {

using namespace std::chrono_literals;
using protocol::AttemptKey;
using protocol::AttemptName;
using std::chrono::milliseconds;

// A session asks for a new token after half of the life of its own.
Clock::duration token_life(const Behaviour& behaviour) {
  constexpr auto kEndless = std::chrono::hours{24 * 365};
  return behaviour.renew_seconds > 0 ? 2 * std::chrono::seconds{behaviour.renew_seconds} : kEndless;
}

bool is(int code, websocket::CloseCode known) {
  return code == static_cast<int>(known);
}

}  // namespace

Machine::Machine(MachineCredentials lent, const Behaviour& behaviour, Report& report, Journal& journal,
                 MachineIo& io, std::uint64_t seed, std::uint64_t index)
    : id_(lent.id),
      behaviour_(behaviour),
      report_(report),
      io_(io),
      random_(seed, index),
      jobs_(behaviour, random_, report, now_,
            [this](const AttemptKey& attempt) { io_.upload(session_.token(), attempt); }),
      session_(*this, attempts_, "agent_load " + std::to_string(protocol::kVersion), std::move(lent.token),
               token_life(behaviour), static_cast<std::uint64_t>(random_.between(0, INT64_MAX))),
      observer_(id_, report, journal, jobs_, attempts_, now_) {
  session_.observe(observer_);
}

// --- connections

void Machine::on_connected(Time now) {
  now_ = now;
  if (left_rudely_) return io_.disconnect(true);
  observer_.on_connected();
  session_.on_connected(now);
}

void Machine::on_connect_failed(int status, std::string_view why, Time now) {
  if (retired()) return;
  now_ = now;
  if (report_.not_connected++ < kComplaintsMax)
    log::error("not_connected", {{"machine", id_.text()}, {"status", status}, {"why", why}});
  session_.on_connect_failed(status, why, now);
  settle();
}

void Machine::on_closed(int code, std::string_view why, Time now) {
  if (retired()) return;
  now_ = now;
  using enum websocket::CloseCode;
  const bool is_news = report_.closes[std::to_string(code)]++ < kComplaintsMax;
  if (is_news && !leaving_ && !is(code, going_away) && !is(code, session_ended))
    log::error("closed", {{"machine", id_.text()}, {"close_code", code}, {"why", why}});
  connection_over();
  session_.on_closed(code, why, now);
  settle();
}

void Machine::connection_over() {
  delayed_.clear();
  vanish_at_ = freeze_at_ = thaw_at_ = Time::max();
}

void Machine::vanish() {
  ++report_.vanished;
  away_until_ = now_ + milliseconds{behaviour_.vanish_ms};
  io_.disconnect(false);
  connection_over();
  session_.on_closed(0, "it vanished", now_);
  if (random_.happens(behaviour_.amnesia)) attempts_.remove_all();
}

void Machine::freeze() {
  ++report_.frozen;
  freeze_at_ = Time::max();
  thaw_at_ = now_ + milliseconds{behaviour_.freeze_ms};
  io_.set_frozen(true);
}

void Machine::thaw() {
  thaw_at_ = Time::max();
  freeze_at_ = now_ + random_.until_next(behaviour_.freeze);
  io_.set_frozen(false);
}

// --- SessionIo

void Machine::connect(const std::string& token) {
  if (now_ >= away_until_) return io_.connect(token);
  connect_at_ = away_until_;
}

void Machine::send(std::string_view text) {
  io_.send(text);
}

void Machine::disconnect(bool with_close_frame) {
  if (!with_close_frame && !leaving_) ++report_.closes["silent"];
  connection_over();
  io_.disconnect(with_close_frame);
}

void Machine::request_token() {
  token_refused_ = true;
}

protocol::Beat Machine::read_gauges() {
  const auto jobs = static_cast<double>(jobs_.running_count());
  return {.cpu_used = jobs,
          .ram_mb_used = 64 * jobs,
          .disc_mb_used = jobs,
          .network_kb_per_s = jobs,
          .attempts = {}};
}

// --- time

Time Machine::due() const {
  if (retired()) return Time::max();
  if (frozen()) return thaw_at_;
  const Time delayed = delayed_.empty() ? Time::max() : delayed_.front().until;
  return std::min({session_.due(), jobs_.due(), delayed, connect_at_, vanish_at_, freeze_at_});
}

void Machine::wake(Time now) {
  if (due() > now) return;
  now_ = now;
  if (frozen()) return thaw();
  if (connect_at_ <= now) {
    connect_at_ = Time::max();
    io_.connect(session_.token());
  }
  if (freeze_at_ <= now) return freeze();
  if (vanish_at_ <= now) return vanish();
  handle_delayed();
  session_.wake(now);
  settle();
}

void Machine::uploaded(const AttemptName& attempt, const std::optional<std::string>& code, Time now) {
  now_ = now;
  jobs_.uploaded(attempt, code);
  settle();
}

void Machine::leave(bool rude, Time now) {
  if (retired()) return;
  now_ = now;
  leaving_ = true;
  if (frozen()) thaw();
  vanish_at_ = freeze_at_ = connect_at_ = Time::max();
  if (!rude) {
    session_.leave("agent_load ends", now);
    return settle();
  }
  left_rudely_ = true;
  io_.disconnect(false);
}

// --- messages

void Machine::on_message(std::string_view text, Time now) {
  now_ = now;
  if (!delays(text)) session_.on_message(text, now);
}

bool Machine::delays(std::string_view text) {
  if (behaviour_.delay_accept_ms == 0) return false;
  const auto message = protocol::read_from_market(text);
  const bool assigns = message && std::holds_alternative<protocol::Assign>(message->body);
  if (!assigns && delayed_.empty()) return false;
  const Time until = assigns ? now_ + milliseconds{behaviour_.delay_accept_ms} : now_;
  delayed_.push_back({delayed_.empty() ? until : std::max(until, delayed_.back().until), std::string{text}});
  return true;
}

void Machine::handle_delayed() {
  while (!delayed_.empty() && delayed_.front().until <= now_) {
    const auto text = std::move(delayed_.front().text);
    delayed_.pop_front();
    session_.on_message(text, now_);
  }
}

void Machine::send_pending(Time now) {
  now_ = now;
  settle();
}

void Machine::settle() {
  if (frozen() || left_rudely_) return;
  if (std::exchange(token_refused_, false)) session_.on_token_failed("its token is not accepted", true, now_);
  do {
    session_.send_pending(now_);
  } while (jobs_.report_to(attempts_));
  if (session_.connected() && !leaving_) {
    if (behaviour_.vanish > 0 && vanish_at_ == Time::max())
      vanish_at_ = now_ + random_.until_next(behaviour_.vanish);
    if (behaviour_.freeze > 0 && freeze_at_ == Time::max())
      freeze_at_ = now_ + random_.until_next(behaviour_.freeze);
  }
  if (session_.rejection().empty() || std::exchange(rejection_counted_, true)) return;
  if (report_.retired++ < kComplaintsMax)
    log::error("machine_retired", {{"machine", id_.text()}, {"why", session_.rejection()}});
}

}  // namespace remotist::bench
