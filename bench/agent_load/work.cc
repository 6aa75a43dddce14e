#include "bench/agent_load/work.h"

#include <algorithm>
#include <array>
#include <utility>

#include "bench/agent_load/output.h"
#include "core/code.h"

namespace remotist::bench {
namespace {

using protocol::AttemptKey;
using protocol::AttemptName;
using protocol::OutcomeKind;
using std::chrono::milliseconds;

constexpr milliseconds kAgainAfter{1000};
constexpr std::int64_t kAbsurdCpuMs = 999'999'999'999;  // thirty years

bool may_succeed_later(std::string_view code) {
  const auto known = code_named(code);
  return known && row_of(*known).retryable;
}

}  // namespace

Work::Work(const Behaviour& behaviour, Chance& chance, Report& report, Journal& journal, Upload upload)
    : behaviour_(behaviour),
      chance_(chance),
      report_(report),
      journal_(journal),
      upload_(std::move(upload)) {}

// --- what the market says

void Work::assign(const protocol::Assignment& assignment, Time now) {
  const auto& name = assignment.attempt.name;
  report_.count_assigned(now);
  journal_.assigned(name);
  const auto [entry, is_new] = held_.try_emplace(name);
  auto& held = entry->second;
  held.token = assignment.attempt.token;
  held.cpu_ms_max = assignment.cpu_ms_max;
  if (is_new) {
    if (chance_.happens(behaviour_.refuse)) held.stage = Stage::refused;
    if (behaviour_.delay_accept_ms > 0) {
      return set_timer(now + milliseconds{behaviour_.delay_accept_ms}, What::answer, name);
    }
  } else {
    // Whatever was said about it, the market has not taken.
    held.answer = Told::not_yet;
    held.outcome = Told::not_yet;
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
    asides_.push_back(
        {.attempt = key_of(*entry), .kind = OutcomeKind::cancelled, .cpu_ms = cpu_ms_of(entry->second, now)});
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
  } else if (held.answer != Told::acknowledged) {
    held.answer = Told::acknowledged;
    ++report_.accepted;
    if (held.stage == Stage::assigned) begin(entry, now);
  }
}

void Work::outcome_acknowledged(const AttemptName& attempt, Time now) {
  const auto entry = held_.find(attempt);
  if (entry == held_.end()) return;
  switch (entry->second.kind) {
    case OutcomeKind::completed:
      report_.count_completed(now);
      journal_.acknowledged(attempt);
      break;
    case OutcomeKind::failed:
      ++report_.failed;
      break;
    case OutcomeKind::handed_back:
      ++report_.handed_back;
      break;
    case OutcomeKind::cancelled:
      break;
  }
  held_.erase(entry);
}

void Work::answer_not_done(const AttemptName& attempt, std::string_view code, Time now) {
  const auto entry = held_.find(attempt);
  if (entry == held_.end()) return;
  if (!may_succeed_later(code)) {
    held_.erase(entry);
    return;
  }
  entry->second.answer = Told::not_yet;
  set_timer(now + kAgainAfter, What::answer, attempt);
}

void Work::outcome_not_done(const AttemptName& attempt, std::string_view code, Time now) {
  const auto entry = held_.find(attempt);
  if (entry == held_.end()) return;
  auto& held = entry->second;
  held.outcome = Told::not_yet;
  if (code == "quota_exceeded" && held.kind == OutcomeKind::completed) {
    fail(*entry, code);
    queue_outcome(*entry);
  } else if (may_succeed_later(code)) {
    set_timer(now + kAgainAfter, What::outcome, attempt);
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
  constexpr std::array<std::string_view, 4> kForGood{"stale_attempt", "wrong_state", "not_found",
                                                     "forbidden"};
  if (code && std::ranges::contains(kForGood, *code)) {
    held_.erase(entry);
  } else if (code && *code != "quota_exceeded") {
    set_timer(now + kAgainAfter, What::upload, attempt);
  } else {
    if (code) fail(*entry, *code);
    entry->second.stage = Stage::ended;
    ended(*entry, now);
  }
}

// --- what the machine has to say

void Work::queue_answer(HeldMap::value_type& entry) {
  auto& [name, held] = entry;
  if (held.answer != Told::not_yet) return;
  held.answer = Told::queued;
  (held.stage == Stage::refused ? refusals_ : accepts_).push_back(name);
}

void Work::queue_outcome(HeldMap::value_type& entry) {
  auto& [name, held] = entry;
  if (held.outcome != Told::not_yet) return;
  held.outcome = Told::queued;
  outcomes_.push_back(name);
}

std::vector<AttemptKey> Work::take_accepts(std::size_t most, Time now) {
  std::vector<AttemptKey> keys;
  while (!accepts_.empty() && keys.size() < most) {
    const auto entry = held_.find(accepts_.front());
    accepts_.pop_front();
    if (entry == held_.end() || entry->second.answer != Told::queued) continue;
    entry->second.answer = Told::said;
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
    if (entry == held_.end() || entry->second.answer != Told::queued) continue;
    entry->second.answer = Told::said;
    keys.push_back(key_of(*entry));
  }
  return keys;
}

std::optional<Work::Next> Work::next_outcome() {
  if (!asides_.empty())
    return Next{asides_.front().files.empty() ? 0 : asides_.front().files[0].bytes.size()};
  while (!outcomes_.empty()) {
    const auto entry = held_.find(outcomes_.front());
    if (entry != held_.end() && entry->second.outcome == Told::queued) {
      const bool has_file = entry->second.kind == OutcomeKind::completed && !behaviour_.uploads();
      return Next{has_file ? behaviour_.result_bytes : 0};
    }
    outcomes_.pop_front();
  }
  return std::nullopt;
}

Work::Said Work::take_outcome() {
  if (!asides_.empty()) {
    auto aside = std::move(asides_.front());
    asides_.pop_front();
    return {std::move(aside), true};
  }
  auto& entry = *held_.find(outcomes_.front());
  outcomes_.pop_front();
  auto& [name, held] = entry;
  held.outcome = Told::said;
  protocol::Outcome outcome{.attempt = key_of(entry), .kind = held.kind, .cpu_ms = held.cpu_ms};
  if (held.kind == OutcomeKind::failed) {
    outcome.failure_code = held.failure_code;
    outcome.failure_detail = "Error: agent_load was told to fail, or to say " + held.failure_code;
  }
  if (held.kind == OutcomeKind::completed && !behaviour_.uploads() && behaviour_.result_bytes > 0)
    outcome.files.push_back({"output", kResultPath, result_of(name, behaviour_.result_bytes)});
  if (held.lie == Lie::twice) asides_.push_back(outcome);
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
          .kind = OutcomeKind::completed,
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
    const bool accepted = held.answer == Told::said || held.answer == Told::acknowledged;
    // Once its outcome is said it runs no longer, whether the market has heard that or not.
    if (!accepted || held.stage == Stage::refused || held.outcome == Told::said) continue;
    running.push_back({name, cpu_ms_of(held, now)});
  }
  return running;
}

std::size_t Work::running_count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(held_, [](const auto& entry) { return entry.second.stage == Stage::running; }));
}

// --- a job's course

void Work::begin(HeldMap::iterator entry, Time now) {
  auto& [name, held] = *entry;
  if (chance_.happens(behaviour_.lose)) {
    ++report_.lost;
    held_.erase(entry);
    return;
  }
  auto run_ms = chance_.between(behaviour_.job_ms, behaviour_.job_ms_max);
  if (held.cpu_ms_max && run_ms > *held.cpu_ms_max) {
    run_ms = *held.cpu_ms_max;
    fail(*entry, "price_used_up");
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
  if (held.kind == OutcomeKind::completed) {
    if (chance_.happens(behaviour_.fail)) {
      fail(entry, "r_error");
    } else if (chance_.happens(behaviour_.handback / (1 - behaviour_.fail))) {
      held.kind = OutcomeKind::handed_back;
    }
  }
  if (chance_.happens(behaviour_.lie)) {
    ++report_.lies;
    held.lie = static_cast<Lie>(chance_.between(1, 4));
    if (held.lie == Lie::absurd_cpu) held.cpu_ms = kAbsurdCpuMs;
    if (held.lie == Lie::wrong_token || held.lie == Lie::wrong_attempt)
      asides_.push_back(false_outcome(entry));
  }
  if (held.kind == OutcomeKind::completed && behaviour_.uploads()) {
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

void Work::fail(HeldMap::value_type& entry, std::string_view code) {
  entry.second.kind = OutcomeKind::failed;
  entry.second.failure_code = code;
}

std::int64_t Work::cpu_ms_of(const Held& held, Time now) const {
  if (held.stage == Stage::assigned || held.stage == Stage::refused) return 0;
  if (held.stage != Stage::running) return held.cpu_ms;
  const auto elapsed = std::chrono::duration_cast<milliseconds>(now - held.began).count();
  return std::min(std::max<std::int64_t>(elapsed, 1), held.cpu_ms_max.value_or(INT64_MAX));
}

// --- what happens to the machine

void Work::connection_lost() {
  accepts_.clear();
  refusals_.clear();
  outcomes_.clear();
  asides_.clear();
  for (auto& [name, held] : held_) {
    if (held.answer != Told::acknowledged) held.answer = Told::not_yet;
    held.outcome = Told::not_yet;
  }
}

void Work::forget_all() {
  held_.clear();
}

std::vector<AttemptKey> Work::hand_back(std::size_t most) {
  std::vector<AttemptKey> keys;
  for (auto entry = held_.begin(); entry != held_.end() && keys.size() < most;) {
    const auto& held = entry->second;
    if (held.outcome == Told::said || (held.stage == Stage::refused && held.answer == Told::said)) {
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

// Timers are never taken back: what they were set for may be over, or may have begun anew.
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
