// The reports of Attempts to the market: queued here, taken by MachineSession when the window has room.
#include <utility>

#include "volunteer/agent/attempts.h"

namespace remotist::volunteer {
namespace {

using protocol::AttemptKey;

constexpr std::size_t kEscaped = 6;  // bytes of JSON for one byte of text, at most
constexpr std::size_t kFileEnvelopeBytes = 64;
constexpr std::string_view kFull = "this machine has as many jobs as it can hold";

std::size_t message_bytes(std::string_view detail, const std::vector<protocol::OutcomeFile>& files) {
  std::size_t bytes = kEscaped * detail.size();
  for (const auto& file : files)
    bytes += (file.bytes.size() + 2) / 3 * 4 + kEscaped * file.path.size() + kFileEnvelopeBytes;
  return bytes;
}

}  // namespace

void Attempts::queue_answer(Attempt& attempt) {
  if (attempt.answer != ReportState::none) return;
  attempt.answer = ReportState::queued;
  (attempt.stage == Stage::refused ? refusals_ : accepts_).push_back(attempt.assignment.attempt.name);
}

void Attempts::queue_outcome(Attempt& attempt) {
  if (attempt.outcome != ReportState::none) return;
  attempt.outcome = ReportState::queued;
  outcomes_.push_back(attempt.assignment.attempt.name);
}

std::vector<AttemptKey> Attempts::take_accepts(std::size_t count_max) {
  std::vector<AttemptKey> keys;
  while (!accepts_.empty() && keys.size() < count_max) {
    Attempt* attempt = find(accepts_.front());
    accepts_.pop_front();
    if (attempt == nullptr || attempt->answer != ReportState::queued) continue;
    attempt->answer = ReportState::sent;
    keys.push_back(attempt->assignment.attempt);
    if (attempt->stage == Stage::assigned) fetch(*attempt);
  }
  return keys;
}

Attempts::Refusals Attempts::take_refusals(std::size_t count_max) {
  Refusals refusals{{}, std::string{kFull}};
  while (!refusals_.empty() && refusals.attempts.size() < count_max) {
    Attempt* attempt = find(refusals_.front());
    refusals_.pop_front();
    if (attempt == nullptr || attempt->answer != ReportState::queued) continue;
    attempt->answer = ReportState::sent;
    refusals.attempts.push_back(attempt->assignment.attempt);
  }
  return refusals;
}

std::optional<protocol::Progress> Attempts::take_progress() {
  while (!progresses_.empty()) {
    Attempt* attempt = find(progresses_.front());
    progresses_.pop_front();
    if (attempt == nullptr || !attempt->progress) continue;
    auto progress = *std::exchange(attempt->progress, std::nullopt);
    if (attempt->stage != Stage::running) continue;
    return protocol::Progress{attempt->assignment.attempt, progress.first, std::move(progress.second)};
  }
  return std::nullopt;
}

std::optional<std::size_t> Attempts::next_outcome_bytes() {
  if (!no_reply_outcomes_.empty()) {
    const auto& outcome = no_reply_outcomes_.front();
    return message_bytes(outcome.failure_detail, outcome.files);
  }
  while (!outcomes_.empty()) {
    const Attempt* attempt = find(outcomes_.front());
    if (attempt != nullptr && attempt->outcome == ReportState::queued) {
      return message_bytes(attempt->failure_detail, attempt->files);
    }
    outcomes_.pop_front();
  }
  return std::nullopt;
}

void Attempts::queue_no_reply(protocol::Outcome outcome) {
  no_reply_outcomes_.push_back(std::move(outcome));
}

Attempts::OutgoingOutcome Attempts::take_outcome() {
  if (!no_reply_outcomes_.empty()) {
    auto outcome = std::move(no_reply_outcomes_.front());
    no_reply_outcomes_.pop_front();
    return {std::move(outcome), true};
  }
  Attempt& attempt = *find(outcomes_.front());
  outcomes_.pop_front();
  attempt.outcome = ReportState::sent;
  return {{.attempt = attempt.assignment.attempt,
           .kind = attempt.kind,
           .cpu_ms = attempt.verdict.cpu_ms,
           .failure_code = attempt.failure_code,
           .failure_detail = attempt.failure_detail,
           .files = attempt.files},
          false};
}

}  // namespace remotist::volunteer
