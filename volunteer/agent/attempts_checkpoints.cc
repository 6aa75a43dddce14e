// The part of Attempts about checkpoints: taking, keeping and handing over.
#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/log.h"
#include "core/utf8.h"
#include "volunteer/agent/attempts.h"
#include "volunteer/agent/retry_policy.h"

namespace remotist::volunteer {
namespace {

using protocol::AttemptName;

constexpr std::string_view kNotSaved = "no checkpoint could be kept: ";

std::string clean(std::string_view text) {
  return clean_text(text, limits::kMessageTextBytesMax);
}

}  // namespace

// --- events of the guest

void Attempts::on_resumed(const AttemptName& name, Time now) {
  Attempt* attempt = find(name);
  if (attempt == nullptr || attempt->stage != Stage::running || attempt->resume.restored) return;
  attempt->resume.restored = true;
  if (log::writes(log::Level::info))
    log::info("job_resumed", {{"job", name.job.text()},
                              {"attempt", name.number},
                              {"checkpoint", attempt->resume.report.sequence}});
  attempt->schedule.began(now);
  report_resume(*attempt);
  step_checkpoints(*attempt, now);
}

void Attempts::on_not_resumable(const AttemptName& name, std::string_view reason, Time now) {
  Attempt* attempt = find(name);
  if (attempt == nullptr || attempt->stage != Stage::running) return;
  attempt->schedule.impossible(clean(reason));
  if (attempt->hand_over && !attempt->hand_over->leaves) return finish_hand_over(*attempt);
  step_checkpoints(*attempt, now);
}

void Attempts::on_checkpoint_refused(const AttemptName& name, std::string_view reason, Time now) {
  Attempt* attempt = find(name);
  if (attempt == nullptr || attempt->stage != Stage::running) return;
  attempt->schedule.refused(clean(reason));
  step_checkpoints(*attempt, now);
}

void Attempts::on_checkpoint_taken(const AttemptName& name, CheckpointTaken taken, Time now) {
  Attempt* attempt = find(name);
  if (attempt == nullptr || attempt->stage != Stage::running) return;
  attempt->schedule.taken(taken.pause_ms, taken.child_cpu_ms, now);
  attempt->captured_at = taken.at;
  if (const auto replaced = attempt->keeping.add(std::move(taken)))
    actions_.discard_checkpoint(name, *replaced);
  // What is uploaded of the older one need not be uploaded again.
  if (attempt->hand_over && attempt->keeping.is_uploading() && attempt->keeping.has_newer())
    actions_.cancel_upload(name);
  step_pause(*attempt, now);
  step_checkpoints(*attempt, now);
}

// --- results of CheckpointActions

void Attempts::on_checkpoint_uploaded(const AttemptName& name, std::uint64_t number,
                                      const TransferFault& fault, CheckpointKeeping::Uploaded chunks,
                                      Time now) {
  Attempt* attempt = find(name);
  if (attempt == nullptr || !attempt->keeping.current() || attempt->keeping.current()->number != number)
    return;
  if (fault) return keeping_failed(*attempt, number, fault, now);
  attempt->keeping.uploaded(std::move(chunks));
  step_checkpoints(*attempt, now);
}

void Attempts::on_checkpoint_recorded(const AttemptName& name, std::uint64_t number,
                                      const TransferFault& fault, std::int64_t sequence, Time now) {
  Attempt* attempt = find(name);
  if (attempt == nullptr || !attempt->keeping.current() || attempt->keeping.current()->number != number)
    return;
  if (!attempt->keeping.is_recording()) return;
  if (fault) return keeping_failed(*attempt, number, fault, now);
  const auto taken = attempt->keeping.current();
  if (log::writes(log::Level::info))
    log::info("checkpoint_kept", {{"job", name.job.text()},
                                  {"attempt", name.number},
                                  {"checkpoint", sequence},
                                  {"bytes", taken->bytes},
                                  {"sent_bytes", attempt->keeping.chunks()->sent_bytes},
                                  {"pause_ms", taken->pause_ms},
                                  {"interval_ms", attempt->schedule.interval_ms()}});
  attempt->keeping_problem.clear();
  attempt->kept_at = taken->at;
  if (attempt->stage == Stage::running) actions_.confirm_checkpoint(name, number);
  end_keeping(*attempt, number);
  if (attempt->hand_over && taken->at >= attempt->hand_over->since) {
    attempt->hand_over->kept = true;
    if (!attempt->hand_over->leaves) return finish_hand_over(*attempt);
  }
  step_checkpoints(*attempt, now);
}

void Attempts::end_keeping(Attempt& attempt, std::uint64_t number) {
  if (const auto file = attempt.keeping.finish(number))
    actions_.discard_checkpoint(attempt.assignment.attempt.name, *file);
}

void Attempts::keeping_failed(Attempt& attempt, std::uint64_t number, const TransferFault& fault, Time now) {
  const auto& name = attempt.assignment.attempt.name;
  if (fault.code != "cancelled")
    log::warn(
        "checkpoint_not_kept",
        {{"job", name.job.text()}, {"attempt", name.number}, {"code", fault.code}, {"why", fault.message}});
  const bool is_missing = fault.code == "chunks_missing";
  const bool has_new_token = attempt.transfer_token != attempt.assignment.attempt.token;
  const bool passes = is_retryable(fault.code) || fault.code == "unauthenticated" ||
                      fault.code == "cancelled" || (fault.code == "stale_attempt" && has_new_token) ||
                      (is_missing && attempt.keeping.failures() < kTransferFailuresMax);
  const auto taken = attempt.keeping.current();
  if (passes) {
    const auto delay =
        fault.code == "cancelled" ? Clock::duration{} : retry_delay(attempt.keeping.failures());
    if (const auto replaced =
            attempt.keeping.retry(number, is_missing || !attempt.keeping.chunks(), delay, now))
      actions_.discard_checkpoint(name, *replaced);
    return step_checkpoints(attempt, now);
  }
  if (fault.code == "lacks_frames") {
    attempt.schedule.ask_full();
  } else {
    attempt.keeping_problem = clean(std::string{kNotSaved} + fault.message);
  }
  end_keeping(attempt, number);
  const bool was_last_hope =
      attempt.hand_over && taken->at >= attempt.hand_over->since && fault.code != "lacks_frames";
  if (was_last_hope) {
    attempt.hand_over->kept = true;  // an earlier one counts
    if (!attempt.hand_over->leaves) return finish_hand_over(attempt);
  }
  step_checkpoints(attempt, now);
}

// Begins whatever can be begun by now.
void Attempts::step_checkpoints(Attempt& attempt, Time now) {
  if (attempt.stage != Stage::running) return;
  const auto& key = attempt.assignment.attempt;
  const bool busy = attempt.keeping.busy() && !attempt.hand_over;
  if (!attempt.is_frozen) {
    const auto request = attempt.schedule.take_request(busy, now);
    if (request != CheckpointSchedule::Request::none)
      actions_.request_checkpoint(key.name, request == CheckpointSchedule::Request::full);
  }
  update_note(attempt, now);
  // The market judges a checkpoint by what this attempt has gone on from.
  if (attempt.resume.state != ReportState::none && attempt.resume.state != ReportState::acknowledged) return;
  if (const auto taken = attempt.keeping.begin_upload(now)) {
    attempt.transfer_token = key.token;
    actions_.upload_checkpoint(key, taken);
  }
  record_checkpoint(attempt, now);
}

void Attempts::record_checkpoint(Attempt& attempt, Time now) {
  if (!attempt.keeping.is_flushing(now)) return;
  const auto& taken = attempt.keeping.current();
  CheckpointRecord record{.taken = taken,
                          .uploaded = attempt.keeping.chunks(),
                          .attempt_cpu_ms = attempt.cpu_ms_before + taken->cpu_ms,
                          .interval_ms = attempt.schedule.interval_ms()};
  const auto& variables = attempt.assignment.watched_variables;
  for (std::size_t i = 0; i < std::min(variables.size(), taken->watched.size()); ++i) {
    const auto& mark = taken->watched[i];
    if (!attempt.records.is_settled(i, mark.number)) return;
    WatchedState state{.variable = variables[i], .number = mark.number};
    if (!mark.hash.empty() && attempt.records.is_recorded(i, mark.number)) state.mark = mark;
    record.watched.push_back(std::move(state));
  }
  record.number = attempt.keeping.begin_recording();
  attempt.transfer_token = attempt.assignment.attempt.token;
  actions_.record_checkpoint(attempt.assignment.attempt, std::move(record));
}

// --- what the job's owner is told

void Attempts::update_note(Attempt& attempt, Time now) {
  auto& note = attempt.note;
  note.wanted = attempt.schedule.problem();
  if (note.wanted.empty()) note.wanted = attempt.keeping_problem;
  if (note.is_sending || note.told == note.wanted || note.not_before > now) return;
  note.is_sending = true;
  note.sending = note.wanted;
  note.not_before = now + kNoteInterval;
  actions_.send_note(attempt.assignment.attempt, {attempt.schedule.interval_ms(), note.sending});
}

void Attempts::on_note_sent(const AttemptName& name, const TransferFault& fault, Time now) {
  Attempt* attempt = find(name);
  if (attempt == nullptr || !attempt->note.is_sending) return;
  attempt->note.is_sending = false;
  // One that is refused would be refused again.
  if (!fault || !is_retryable(fault.code)) attempt->note.told = attempt->note.sending;
  step_checkpoints(*attempt, now);
}

void Attempts::report_resume(Attempt& attempt) {
  auto& resume = attempt.resume;
  resume.state = ReportState::sent;
  attempt.transfer_token = attempt.assignment.attempt.token;
  actions_.report_resume(attempt.assignment.attempt, resume.report);
}

void Attempts::on_resume_reported(const AttemptName& name, const TransferFault& fault, Time now) {
  Attempt* attempt = find(name);
  if (attempt == nullptr || attempt->resume.state != ReportState::sent) return;
  const bool has_new_token = attempt->transfer_token != attempt->assignment.attempt.token;
  const bool again = is_retryable(fault.code) || fault.code == "unauthenticated" ||
                     (fault.code == "stale_attempt" && has_new_token);
  if (fault)
    log::warn("resume_not_reported",
              {{"job", name.job.text()}, {"code", fault.code}, {"why", fault.message}});
  if (fault && again) {
    attempt->resume.state = ReportState::queued;
    attempt->resume.retry_at = now + retry_delay(++attempt->resume.failures);
    return;
  }
  attempt->resume.state = ReportState::acknowledged;
  step_checkpoints(*attempt, now);
  deliver_if_flushed(*attempt, now);
}

// The state of the checkpoint was not restored: the one before it is tried, and at last a fresh start.
void Attempts::skip_checkpoint(Attempt& attempt, const Verdict& verdict) {
  auto& resume = attempt.resume;
  const auto& name = attempt.assignment.attempt.name;
  log::warn("checkpoint_skipped", {{"job", name.job.text()},
                                   {"attempt", name.number},
                                   {"checkpoint", resume.report.sequence},
                                   {"why", verdict.message}});
  resume.report.skipped.push_back({resume.report.sequence, clean(verdict.message)});
  resume.report.sequence = 0;
  attempt.cpu_ms_before += verdict.cpu_ms;
  attempt.verdict.cpu_ms = attempt.cpu_ms_before;
  if (auto& most = attempt.assignment.cpu_ms_max) *most = std::max<std::int64_t>(*most - verdict.cpu_ms, 1);
  fetch(attempt);
}

void Attempts::wake_checkpoints(Attempt& attempt, Time now) {
  attempt.schedule.wake(now);
  attempt.keeping.wake(now);
  if (attempt.resume.state == ReportState::queued && attempt.resume.retry_at <= now) report_resume(attempt);
  if (attempt.stage == Stage::running && attempt.hand_over && attempt.hand_over->until <= now)
    return finish_hand_over(attempt);
  step_pause(attempt, now);
  step_checkpoints(attempt, now);
}

Time Attempts::checkpoints_due(const Attempt& attempt) const {
  Time due = attempt.resume.state == ReportState::queued ? attempt.resume.retry_at : Time::max();
  if (attempt.stage != Stage::running) return due;
  const auto& note = attempt.note;
  if (!note.is_sending && note.told != note.wanted) due = std::min(due, note.not_before);
  if (attempt.hand_over) due = std::min(due, attempt.hand_over->until);
  due = std::min(due, attempt.keeping.due());
  if (attempt.is_frozen) return due;
  if (paused_since_) due = std::min(due, *paused_since_ + kFreezeTime);
  return std::min(due, attempt.schedule.due(attempt.keeping.busy() && !attempt.hand_over));
}

}  // namespace remotist::volunteer
