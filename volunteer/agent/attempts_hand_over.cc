// The part of Attempts about moving jobs away: handing over, pausing, leaving.
#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/utf8.h"
#include "volunteer/agent/attempts.h"

namespace remotist::volunteer {
namespace {

using protocol::AttemptName;

std::string clean_reason(std::string_view text) {
  return clean_text(text, limits::kMessageTextBytesMax);
}

}  // namespace

void Attempts::hand_over(const AttemptName& name, std::string_view reason, Time now) {
  if (Attempt* attempt = find(name))
    begin_hand_over(
        *attempt,
        {.since = now, .until = now + kHandOverTime, .reason = clean_reason(reason), .leaves = false}, now);
}

void Attempts::hand_over_all(std::string_view reason, bool leaves, Time now) {
  std::vector<AttemptName> names;
  for (const auto& [name, _] : attempts_) names.push_back(name);
  for (const auto& name : names)
    begin_hand_over(*find(name),
                    {.since = now,
                     .until = leaves ? Time::max() : now + kHandOverTime,
                     .reason = clean_reason(reason),
                     .leaves = leaves},
                    now);
}

void Attempts::begin_hand_over(Attempt& attempt, HandOver hand_over, Time now) {
  if (attempt.stage != Stage::running && attempt.stage != Stage::fetching) return;
  if (!attempt.schedule.is_possible()) {
    // Without a checkpoint there is nothing to wait for, but the job's own end.
    if (hand_over.leaves) return;
    attempt.hand_over = std::move(hand_over);
    return finish_hand_over(attempt);
  }
  // The checkpoint that a frozen guest took before is as new as any.
  if (attempt.is_frozen) hand_over.since = std::min(hand_over.since, *paused_since_);
  if (attempt.hand_over) {
    attempt.hand_over->until = std::min(attempt.hand_over->until, hand_over.until);
    attempt.hand_over->leaves &= hand_over.leaves;
  } else {
    attempt.hand_over = std::move(hand_over);
    if (!attempt.is_frozen) attempt.schedule.ask_now();
    actions_.hurry_uploads(attempt.assignment.attempt.name);
  }
  if (attempt.is_frozen && (attempt.kept_at >= attempt.hand_over->since || !attempt.keeping.busy()))
    attempt.hand_over->kept = true;
  if (attempt.hand_over->kept && !attempt.hand_over->leaves) return finish_hand_over(attempt);
  step_checkpoints(attempt, now);
}

void Attempts::finish_hand_over(Attempt& attempt) {
  const auto name = attempt.assignment.attempt.name;
  if (attempt.stage == Stage::running) {
    attempt.verdict.cpu_ms = cpu_ms_of(attempt);
    actions_.stop_run(name);
  }
  attempt.schedule.ended();
  hand_back(attempt, attempt.hand_over->reason);
}

// --- pausing

void Attempts::pause(Time now) {
  if (paused_since_) return;
  paused_since_ = now;
  for (auto& [_, attempt] : attempts_) {
    if (attempt.schedule.is_possible()) attempt.schedule.ask_now();
    step_checkpoints(attempt, now);
    step_pause(attempt, now);
  }
}

void Attempts::unpause(Time now) {
  paused_since_.reset();
  for (auto& [name, attempt] : attempts_) {
    if (!std::exchange(attempt.is_frozen, false)) continue;
    actions_.set_frozen(name, false);
    step_checkpoints(attempt, now);
  }
}

void Attempts::step_pause(Attempt& attempt, Time now) {
  if (!paused_since_ || attempt.stage != Stage::running || attempt.is_frozen) return;
  const bool waits = attempt.schedule.is_possible() && attempt.captured_at < *paused_since_ &&
                     now < *paused_since_ + kFreezeTime;
  if (waits) return;
  attempt.is_frozen = true;
  actions_.set_frozen(attempt.assignment.attempt.name, true);
}

bool Attempts::can_leave() const {
  return std::ranges::all_of(attempts_, [](const auto& entry) {
    const auto& attempt = entry.second;
    switch (attempt.stage) {
      case Stage::assigned:
      case Stage::refused:
      case Stage::fetching:
        return true;
      case Stage::running:
        return (attempt.hand_over && attempt.hand_over->kept) ||
               (attempt.is_frozen && !attempt.schedule.is_possible());
      case Stage::flushing:
      case Stage::delivering:
      case Stage::ended:
        return false;
    }
    return false;
  });
}

}  // namespace remotist::volunteer
