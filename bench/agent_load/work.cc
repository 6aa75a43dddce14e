#include "bench/agent_load/work.h"

#include <algorithm>
#include <array>
#include <format>
#include <utility>

#include "bench/agent_load/output.h"
#include "volunteer/agent/retry_policy.h"

namespace remotist::bench {
namespace {

using protocol::AttemptKey;
using protocol::AttemptName;
using std::chrono::milliseconds;
using volunteer::is_retryable;

constexpr milliseconds kRetryDelay{1000};
constexpr std::int64_t kAbsurdCpuMs = 999'999'999'999;  // thirty years

}  // namespace

Work::Work(const Behaviour& behaviour, RandomChoice& random, Report& report, Journal& journal, Upload upload)
    : behaviour_(behaviour),
      random_(random),
      report_(report),
      journal_(journal),
      upload_(std::move(upload)) {}

// --- messages from the market

void Work::assign(const protocol::Assignment& assignment, Time now) {
  const auto& name = assignment.attempt.name;
  report_.count_assigned(now);
  journal_.assigned(name);
  const auto [entry, is_new] = held_.try_emplace(name);
  auto& held = entry->second;
  held.token = assignment.attempt.token;
  held.cpu_ms_max = assignment.cpu_ms_max;
  if (is_new) {
    if (random_.happens(behaviour_.refuse)) held.stage = Stage::refused;
    if (behaviour_.delay_accept_ms > 0) {
      return set_timer(now + milliseconds{behaviour_.delay_accept_ms}, What::answer, name);
    }
  } else {
    // The market has not accepted any report about it.
    held.answer = ReportState::none;
    held.outcome = ReportState::none;
    if (held.stage == Stage::ended) queue_outcome(*entry);
  }
  queue_answer(*entry);
}

void Work::stop(const AttemptName& attempt, std::string_view reason, Time now) {
  ++report_.stopped;
  journal_.stopped(attempt);
  const auto entry = held_.find(attempt);
  if (entry == held_.end()) return;
  if (reason == "cancelled" && entry->second.stage == Stage::running) {
    no_reply_outcomes_.push_back({.attempt = key_of(*entry),
                                  .kind = AttemptOutcome::cancelled,
                                  .cpu_ms = cpu_ms_of(entry->second, now)});
  }
  held_.erase(entry);
}

bool Work::keep(const AttemptName& attempt, Time now) {
  const auto entry = held_.find(attempt);
  if (entry == held_.end()) return false;
  queue_answer(*entry);
  if (entry->second.stage == Stage::ended) ended(*entry, now);
  return true;
}

void Work::answer_acknowledged(const AttemptName& attempt, Time now) {
  const auto entry = held_.find(attempt);
  if (entry == held_.end()) return;
  auto& held = entry->second;
  if (held.stage == Stage::refused) {
    ++report_.refused;
    held_.erase(entry);
  } else if (held.answer != ReportState::acknowledged) {
    held.answer = ReportState::acknowledged;
    ++report_.accepted;
    if (held.stage == Stage::assigned) begin(entry, now);
  }
}

void Work::outcome_acknowledged(const AttemptName& attempt, Time now) {
  const auto entry = held_.find(attempt);
  if (entry == held_.end()) return;
  const auto kind = entry->second.kind;
  if (kind == AttemptOutcome::completed) {
    report_.count_completed(now);
    journal_.acknowledged(attempt);
  }
  if (kind == AttemptOutcome::failed) ++report_.failed;
  if (kind == AttemptOutcome::handed_back) ++report_.handed_back;
  held_.erase(entry);
}

void Work::answer_rejected(const AttemptName& attempt, std::string_view code, Time now) {
  const auto entry = held_.find(attempt);
  if (entry == held_.end()) return;
  if (!is_retryable(code)) {
    held_.erase(entry);
    return;
  }
  entry->second.answer = ReportState::none;
  set_timer(now + kRetryDelay, What::answer, attempt);
}

void Work::outcome_rejected(const AttemptName& attempt, std::string_view code, Time now) {
  const auto entry = held_.find(attempt);
  if (entry == held_.end()) return;
  auto& held = entry->second;
  held.outcome = ReportState::none;
  if (code == name_of(FailureCode::quota_exceeded) && held.kind == AttemptOutcome::completed) {
    fail(*entry, FailureCode::quota_exceeded);
    queue_outcome(*entry);
  } else if (is_retryable(code)) {
    set_timer(now + kRetryDelay, What::outcome, attempt);
  } else {
    held_.erase(entry);
  }
}

void Work::uploaded(const AttemptName& attempt, const std::optional<std::string>& code, Time now) {
  if (code) {
    ++report_.problems[*code];
  } else {
    ++report_.uploads;
  }
  const auto entry = held_.find(attempt);
  if (entry == held_.end() || entry->second.stage != Stage::uploading) return;
  constexpr std::array<std::string_view, 4> kAttemptIsOver{"stale_attempt", "wrong_state", "not_found",
                                                           "forbidden"};
  if (code && std::ranges::contains(kAttemptIsOver, *code)) {
    held_.erase(entry);
  } else if (code && *code != name_of(FailureCode::quota_exceeded)) {
    set_timer(now + kRetryDelay, What::upload, attempt);
  } else {
    if (code) fail(*entry, FailureCode::quota_exceeded);
    entry->second.stage = Stage::ended;
    ended(*entry, now);
  }
}

// --- reports to the market

void Work::queue_answer(HeldMap::value_type& entry) {
  auto& [name, held] = entry;
  if (held.answer != ReportState::none) return;
  held.answer = ReportState::queued;
  (held.stage == Stage::refused ? refusals_ : accepts_).push_back(name);
}

void Work::queue_outcome(HeldMap::value_type& entry) {
  auto& [name, held] = entry;
  if (held.outcome != ReportState::none) return;
  held.outcome = ReportState::queued;
  outcomes_.push_back(name);
}

std::vector<AttemptKey> Work::take_accepts(std::size_t most, Time now) {
  std::vector<AttemptKey> keys;
  while (!accepts_.empty() && keys.size() < most) {
    const auto entry = held_.find(accepts_.front());
    accepts_.pop_front();
    if (entry == held_.end() || entry->second.answer != ReportState::queued) continue;
    entry->second.answer = ReportState::sent;
    keys.push_back(key_of(*entry));
    if (entry->second.stage == Stage::assigned && !behaviour_.wait_for_ack) begin(entry, now);
  }
  return keys;
}

std::vector<AttemptKey> Work::take_refusals(std::size_t most) {
  std::vector<AttemptKey> keys;
  while (!refusals_.empty() && keys.size() < most) {
    const auto entry = held_.find(refusals_.front());
    refusals_.pop_front();
    if (entry == held_.end() || entry->second.answer != ReportState::queued) continue;
    entry->second.answer = ReportState::sent;
    keys.push_back(key_of(*entry));
  }
  return keys;
}

std::optional<Work::Next> Work::next_outcome() {
  if (!no_reply_outcomes_.empty())
    return Next{no_reply_outcomes_.front().files.empty() ? 0
                                                         : no_reply_outcomes_.front().files[0].bytes.size()};
  while (!outcomes_.empty()) {
    const auto entry = held_.find(outcomes_.front());
    if (entry != held_.end() && entry->second.outcome == ReportState::queued) {
      const bool has_file = entry->second.kind == AttemptOutcome::completed && !behaviour_.uploads();
      return Next{has_file ? behaviour_.result_bytes : 0};
    }
    outcomes_.pop_front();
  }
  return std::nullopt;
}

Work::OutgoingOutcome Work::take_outcome() {
  if (!no_reply_outcomes_.empty()) {
    auto outcome = std::move(no_reply_outcomes_.front());
    no_reply_outcomes_.pop_front();
    return {std::move(outcome), true};
  }
  auto& entry = *held_.find(outcomes_.front());
  outcomes_.pop_front();
  auto& [name, held] = entry;
  held.outcome = ReportState::sent;
  protocol::Outcome outcome{.attempt = key_of(entry), .kind = held.kind, .cpu_ms = held.cpu_ms};
  if (held.failure_code) {
    outcome.failure_code = held.failure_code;
    outcome.failure_detail =
        std::format("Error: agent_load was told to fail, or to say {}", name_of(*held.failure_code));
  }
  if (held.kind == AttemptOutcome::completed && !behaviour_.uploads() && behaviour_.result_bytes > 0)
    outcome.files.push_back({"output", kResultPath, result_of(name, behaviour_.result_bytes)});
  if (held.lie == Lie::twice) no_reply_outcomes_.push_back(outcome);
  held.lie = Lie::none;
  return {std::move(outcome), false};
}

protocol::Outcome Work::false_outcome(const HeldMap::value_type& entry) {
  const auto& [name, held] = entry;
  AttemptKey key{name, held.token};
  if (held.lie == Lie::wrong_token) std::ranges::reverse(key.token);
  if (held.lie == Lie::wrong_attempt) ++key.name.number;
  const std::string words = "a lie about " + name.job.text() + " " + std::to_string(name.number) + "\n";
  return {.attempt = std::move(key),
          .kind = AttemptOutcome::completed,
          .cpu_ms = held.cpu_ms,
          .files = {{"output", kResultPath, words}}};
}

std::vector<AttemptKey> Work::keys() const {
  std::vector<AttemptKey> keys;
  for (const auto& entry : held_) keys.push_back(key_of(entry));
  return keys;
}

std::vector<protocol::Beat::Running> Work::running(Time now) const {
  std::vector<protocol::Beat::Running> running;
  for (const auto& [name, held] : held_) {
    const bool accepted = held.answer == ReportState::sent || held.answer == ReportState::acknowledged;
    // Once its outcome is sent, the attempt does not run any more.
    if (!accepted || held.stage == Stage::refused || held.outcome == ReportState::sent) continue;
    running.push_back({name, cpu_ms_of(held, now)});
  }
  return running;
}

std::size_t Work::running_count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(held_, [](const auto& entry) { return entry.second.stage == Stage::running; }));
}

// --- runs

void Work::begin(HeldMap::iterator entry, Time now) {
  auto& [name, held] = *entry;
  if (random_.happens(behaviour_.lose)) {
    ++report_.lost;
    held_.erase(entry);
    return;
  }
  auto run_ms = random_.between(behaviour_.job_ms, behaviour_.job_ms_max);
  if (held.cpu_ms_max && run_ms > *held.cpu_ms_max) {
    run_ms = *held.cpu_ms_max;
    fail(*entry, FailureCode::price_used_up);
  }
  held.stage = Stage::running;
  held.began = now;
  held.ends = now + milliseconds{run_ms};
  if (run_ms == 0) return end(*entry, now);
  set_timer(held.ends, What::end, name);
}

void Work::end(HeldMap::value_type& entry, Time now) {
  auto& [name, held] = entry;
  held.cpu_ms = cpu_ms_of(held, now);
  if (held.kind == AttemptOutcome::completed) {
    if (random_.happens(behaviour_.fail)) {
      fail(entry, FailureCode::r_error);
    } else if (random_.happens(behaviour_.handback / (1 - behaviour_.fail))) {
      held.kind = AttemptOutcome::handed_back;
    }
  }
  if (random_.happens(behaviour_.lie)) {
    ++report_.lies;
    held.lie = static_cast<Lie>(random_.between(1, 4));
    if (held.lie == Lie::absurd_cpu) held.cpu_ms = kAbsurdCpuMs;
    if (held.lie == Lie::wrong_token || held.lie == Lie::wrong_attempt)
      no_reply_outcomes_.push_back(false_outcome(entry));
  }
  if (held.kind == AttemptOutcome::completed && behaviour_.uploads()) {
    held.stage = Stage::uploading;
    upload_(key_of(entry));
    return;
  }
  held.stage = Stage::ended;
  ended(entry, now);
}

void Work::ended(HeldMap::value_type& entry, Time now) {
  if (behaviour_.delay_outcome_ms == 0) return queue_outcome(entry);
  set_timer(now + milliseconds{behaviour_.delay_outcome_ms}, What::outcome, entry.first);
}

void Work::fail(HeldMap::value_type& entry, FailureCode code) {
  entry.second.kind = AttemptOutcome::failed;
  entry.second.failure_code = code;
}

std::int64_t Work::cpu_ms_of(const Held& held, Time now) const {
  if (held.stage == Stage::assigned || held.stage == Stage::refused) return 0;
  if (held.stage != Stage::running) return held.cpu_ms;
  const auto elapsed = std::chrono::duration_cast<milliseconds>(now - held.began).count();
  return std::min(std::max<std::int64_t>(elapsed, 1), held.cpu_ms_max.value_or(INT64_MAX));
}

// --- events of the machine

void Work::connection_lost() {
  accepts_.clear();
  refusals_.clear();
  outcomes_.clear();
  no_reply_outcomes_.clear();
  for (auto& [name, held] : held_) {
    if (held.answer != ReportState::acknowledged) held.answer = ReportState::none;
    held.outcome = ReportState::none;
  }
}

void Work::forget_all() {
  held_.clear();
}

std::vector<AttemptKey> Work::hand_back(std::size_t most) {
  std::vector<AttemptKey> keys;
  for (auto entry = held_.begin(); entry != held_.end() && keys.size() < most;) {
    const auto& held = entry->second;
    if (held.outcome == ReportState::sent ||
        (held.stage == Stage::refused && held.answer == ReportState::sent)) {
      ++entry;
    } else {
      keys.push_back(key_of(*entry));
      entry = held_.erase(entry);
    }
  }
  return keys;
}

Time Work::due() const {
  return timers_.empty() ? Time::max() : timers_.top().at;
}

void Work::wake(Time now) {
  while (!timers_.empty() && timers_.top().at <= now) {
    const auto timer = timers_.top();
    timers_.pop();
    fire(timer, now);
  }
}

void Work::set_timer(Time at, What what, const AttemptName& attempt) {
  timers_.push({at, what, attempt});
}

// Timers are never cancelled: the attempt may be over, or may have begun again.
void Work::fire(const Timer& timer, Time now) {
  const auto entry = held_.find(timer.attempt);
  if (entry == held_.end()) return;
  auto& held = entry->second;
  switch (timer.what) {
    case What::answer:
      return queue_answer(*entry);
    case What::end:
      if (held.stage == Stage::running && held.ends <= now) end(*entry, now);
      return;
    case What::upload:
      if (held.stage == Stage::uploading) upload_(key_of(*entry));
      return;
    case What::outcome:
      if (held.stage == Stage::ended) queue_outcome(*entry);
      return;
  }
}

}  // namespace remotist::bench
