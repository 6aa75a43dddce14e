#include "market/service/volunteer.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/token.h"

namespace remotist::market {
namespace {

using protocol::AttemptName;
using websocket::CloseCode;

// The size of one assign message, with a margin for the frame.
constexpr std::size_t kAssignBytes = limits::kFrameBytesMax / 2;

std::size_t weight_of(const protocol::Assignment& assignment) {
  std::size_t bytes = 460 + 2 * assignment.exec_file.size();
  for (const auto& variable : assignment.watched_variables) bytes += 2 * variable.size() + 3;
  for (const auto& file : assignment.files) bytes += 40 + 2 * (file.path.size() + file.bytes.size());
  return bytes;
}

}  // namespace

std::optional<MachineSessionId> Volunteer::machine_session() const {
  const std::lock_guard lock{mutex_};
  return session_;
}

bool Volunteer::close_broken(CloseCode code, std::string_view reason) {
  socket_->close(code, reason);
  return false;
}

bool Volunteer::begin(std::int64_t number, std::int64_t ack, bool hello, std::size_t bytes) {
  const std::lock_guard lock{mutex_};
  if (number != 0) {
    if (hello != (number == 1)) {
      return close_broken(CloseCode::protocol_error, "the first message, and no other, is hello");
    }
    if (!hello && !session_) return close_broken(CloseCode::protocol_error, "wait for welcome");
    if (!inbound_.begin(number, bytes)) {
      return close_broken(CloseCode::too_much, "a number is missing, or too much is unacknowledged");
    }
  }
  heard_at_ = Clock::now();
  if (!outbound_.was_sent(ack)) {
    return close_broken(CloseCode::protocol_error, "an acknowledgement of what was never sent");
  }
  if (!outbound_.acknowledge(ack).empty()) acknowledged_at_ = Clock::now();
  send_pending();
  return true;
}

void Volunteer::done(std::int64_t number) {
  const std::lock_guard lock{mutex_};
  const auto before = inbound_.acknowledged();
  inbound_.done(number);
  if (inbound_.acknowledged() == before) return;
  socket_->send(
      protocol::text_of(protocol::Frame<protocol::FromMarket>{0, inbound_.acknowledged(), protocol::Ack{}}));
}

void Volunteer::beat(const protocol::Beat& beat) {
  const std::lock_guard lock{mutex_};
  ++beats_;
  taking_jobs_ = beat.taking_jobs;
  running_ = beat.attempts;
  for (const auto& running : beat.attempts) {
    const auto held = held_.find(running.name);
    if (held != held_.end()) held->second.named_at = Clock::now();
  }
}

std::optional<std::int64_t> Volunteer::cpu_ms(const AttemptName& attempt) const {
  const std::lock_guard lock{mutex_};
  const auto found = std::ranges::find(running_, attempt, &protocol::Beat::Running::name);
  if (found == running_.end()) return std::nullopt;
  return found->cpu_ms;
}

void Volunteer::progress(const protocol::Progress& progress) {
  const std::lock_guard lock{mutex_};
  const auto& name = progress.attempt.name;
  // Only of attempts that it holds, or it could fill the market's memory with names.
  if (!held_.contains(name)) return;
  progress_.insert_or_assign(name, AttemptProgress{name, remotist::token_hash(progress.attempt.token),
                                                   progress.fraction, progress.message});
}

bool Volunteer::may_record(const protocol::WatchedRecords& watched, std::size_t bytes) {
  const std::lock_guard lock{mutex_};
  const auto held = held_.find(watched.attempt.name);
  if (held == held_.end()) return true;
  auto& [accepted, named_at, records, record_bytes] = held->second;
  const auto now = Clock::now();
  const auto record_count = static_cast<double>(watched.records.size());
  const auto byte_count = static_cast<double>(bytes);
  if (!records.has(record_count, now) || !record_bytes.has(byte_count, now)) return false;
  records.charge(record_count, now);
  record_bytes.charge(byte_count, now);
  return true;
}

void Volunteer::stop_taking_jobs() {
  const std::lock_guard lock{mutex_};
  taking_jobs_ = false;
}

void Volunteer::welcome(std::int64_t number, const OpenedMachineSession& opened, bool taking_jobs,
                        std::chrono::milliseconds beat, std::chrono::milliseconds lease) {
  const std::lock_guard lock{mutex_};
  session_ = opened.machine_session;
  ++beats_;
  taking_jobs_ = taking_jobs;
  for (const auto& name : opened.keep) held_[name] = {true, Clock::now()};
  for (const auto& name : opened.lost) held_[name] = {true, Clock::now()};  // until that is recorded
  inbound_.done(number);
  send(protocol::Welcome{.machine_session = opened.machine_session,
                         .beat_ms = beat.count(),
                         .lease_ms = lease.count(),
                         .keep = opened.keep,
                         .stop = opened.stop});
  for (const auto& assignment : opened.assign) {
    held_[assignment.attempt.name] = {false, Clock::now()};
    assignments_.push_back(assignment);
  }
  if (!opened.leaving.empty()) hand_overs_["as was asked before"] = opened.leaving;
  send_pending();
}

void Volunteer::assign(std::vector<protocol::Assignment> assignments) {
  const std::lock_guard lock{mutex_};
  for (auto& assignment : assignments) {
    held_[assignment.attempt.name] = {false, Clock::now()};
    assignments_.push_back(std::move(assignment));
  }
  send_pending();
}

void Volunteer::accepted(const AttemptName& attempt) {
  const std::lock_guard lock{mutex_};
  const auto held = held_.find(attempt);
  if (held == held_.end()) return;
  held->second.accepted = true;
  held->second.named_at = Clock::now();
}

void Volunteer::forget(const AttemptName& attempt, std::string_view reason) {
  const std::lock_guard lock{mutex_};
  held_.erase(attempt);
  progress_.erase(attempt);
  std::erase_if(running_, [&](const auto& each) { return each.name == attempt; });
  std::erase_if(assignments_, [&](const auto& each) { return each.attempt.name == attempt; });
  for (auto& [why, attempts] : hand_overs_) std::erase(attempts, attempt);
  if (reason.empty()) return;
  stops_[std::string{reason}].push_back(attempt);
  send_pending();
}

void Volunteer::hand_over(const std::vector<AttemptName>& attempts, std::string_view reason) {
  const std::lock_guard lock{mutex_};
  for (const auto& name : attempts) {
    if (held_.contains(name)) hand_overs_[std::string{reason}].push_back(name);
  }
  send_pending();
}

void Volunteer::token(protocol::Token token) {
  const std::lock_guard lock{mutex_};
  send(std::move(token));
}

void Volunteer::problem(protocol::Problem problem) {
  const std::lock_guard lock{mutex_};
  send(std::move(problem));
}

void Volunteer::send(protocol::FromMarket body) {
  // Answers ignore the window, because requests have a limit of their own; but a peer that never acknowledges
  // is closed.
  if (outbound_.unacknowledged() >= 2 * limits::kUnackedMessagesMax) {
    socket_->close(CloseCode::too_much, "too many messages are unacknowledged");
    return;
  }
  if (outbound_.unacknowledged() == 0) acknowledged_at_ = Clock::now();
  protocol::Frame<protocol::FromMarket> frame{outbound_.next_number(), inbound_.acknowledged(),
                                              std::move(body)};
  const auto text = protocol::text_of(frame);
  outbound_.add({}, text.size());
  socket_->send(text);
}

void Volunteer::send_pending() {
  if (!session_) return;
  while (!stops_.empty() && outbound_.is_open()) {
    auto first = stops_.extract(stops_.begin());
    send(protocol::Stop{std::move(first.mapped()), first.key()});
  }
  while (!hand_overs_.empty() && outbound_.is_open()) {
    auto first = hand_overs_.extract(hand_overs_.begin());
    if (!first.mapped().empty()) send(protocol::HandOver{std::move(first.mapped()), first.key()});
  }
  while (!assignments_.empty() && outbound_.is_open()) {
    protocol::Assign assign;
    std::size_t weight = 0;
    auto next = assignments_.begin();
    for (; next != assignments_.end() && assign.jobs.size() < limits::kFrameAttemptsMax; ++next) {
      weight += weight_of(*next);
      if (weight > kAssignBytes && !assign.jobs.empty()) break;
      assign.jobs.push_back(std::move(*next));
    }
    assignments_.erase(assignments_.begin(), next);
    send(std::move(assign));
  }
}

std::optional<Volunteer::Unrecorded> Volunteer::unrecorded() const {
  const std::lock_guard lock{mutex_};
  if (beats_ == recorded_beats_ || !session_) return std::nullopt;
  Unrecorded unrecorded{
      .beats = beats_, .seen = {*session_, connection_, taking_jobs_}, .running = {}, .progress = {}};
  for (const auto& [name, cpu_ms] : running_) unrecorded.running.push_back({*session_, name, cpu_ms});
  for (const auto& [name, note] : progress_) unrecorded.progress.push_back(note);
  return unrecorded;
}

void Volunteer::beats_recorded(std::uint64_t beats) {
  const std::lock_guard lock{mutex_};
  recorded_beats_ = beats;
}

void Volunteer::progress_recorded(const std::vector<AttemptProgress>& notes) {
  const std::lock_guard lock{mutex_};
  for (const auto& note : notes) {
    const auto found = progress_.find(note.attempt);
    if (found != progress_.end() && found->second == note) progress_.erase(found);
  }
}

std::vector<AttemptName> Volunteer::remove_unnamed(std::chrono::milliseconds lease, Clock::time_point now) {
  const std::lock_guard lock{mutex_};
  std::vector<AttemptName> names;
  std::erase_if(held_, [&](const auto& each) {
    const auto& [name, held] = each;
    if (now - held.named_at <= lease) return false;
    if (held.accepted) names.push_back(name);
    return true;
  });
  return names;
}

bool Volunteer::is_silent(std::chrono::milliseconds lease, Clock::time_point now) const {
  const std::lock_guard lock{mutex_};
  return now - heard_at_ > lease;
}

bool Volunteer::is_stalled(std::chrono::milliseconds lease, Clock::time_point now) const {
  const std::lock_guard lock{mutex_};
  return outbound_.unacknowledged() > 0 && now - acknowledged_at_ > lease;
}

}  // namespace remotist::market
