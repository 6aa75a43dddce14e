#include "volunteer/agent/attempts.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "core/limits.h"
#include "core/log.h"
#include "core/utf8.h"
#include "volunteer/agent/retry_policy.h"

namespace remotist::volunteer {
namespace {

using protocol::AttemptKey;
using protocol::AttemptName;

FailureCode failure_code_of(Limit limit) {
  switch (limit) {
    case Limit::cpu:
      return FailureCode::price_used_up;
    case Limit::ram:
      return FailureCode::limit_ram;
    case Limit::disc:
      return FailureCode::limit_disc;
    case Limit::inodes:
      return FailureCode::limit_inodes;
    case Limit::frames:
      return FailureCode::limit_frames;
  }
  std::abort();
}

// None: the job did not fail.
std::optional<FailureCode> failure_code_of(const Verdict& verdict) {
  switch (verdict.ending) {
    case Ending::r_error:
      return FailureCode::r_error;
    case Ending::killed:
      return FailureCode::killed;
    case Ending::limit:
      return failure_code_of(verdict.limit.value());
    case Ending::completed:
    case Ending::cancelled:
    case Ending::sandbox_failure:
      return std::nullopt;
  }
  std::abort();
}

// The fault's code if it is one of these, with which the job fails: another machine would fail too.
std::optional<FailureCode> failure_code_of(const TransferFault& fault,
                                           std::initializer_list<FailureCode> fatal) {
  const auto code = failure_code_named(fault.code);
  return code && std::ranges::contains(fatal, *code) ? code : std::nullopt;
}

void log_attempt(std::string_view event, const protocol::Assignment& assignment, std::string_view why = {}) {
  if (!log::writes(log::Level::info)) return;
  const auto& name = assignment.attempt.name;
  log::info(event, {{"job", name.job.text()},
                    {"attempt", name.number},
                    {"request", request_of(assignment)},
                    {"why", why}});
}

}  // namespace

std::string request_of(const protocol::Assignment& assignment) {
  return assignment.request_id ? assignment.request_id->text() : std::string{};
}

Attempts::Attempt* Attempts::find(const AttemptName& name) {
  const auto entry = attempts_.find(name);
  return entry == attempts_.end() ? nullptr : &entry->second;
}

void Attempts::remove(const AttemptName& name) {
  actions_.drop(name);
  attempts_.erase(name);
}

// --- messages from the market

void Attempts::assign(const protocol::Assignment& assignment) {
  const auto& name = assignment.attempt.name;
  // The market assigns a job again only when its older attempts are over.
  for (auto older = attempts_.lower_bound({name.job, 0}); older != attempts_.end() && older->first < name;)
    remove((older++)->first);

  const auto [entry, is_new] = attempts_.try_emplace(name, Attempt{.assignment = assignment});
  auto& attempt = entry->second;
  if (is_new) {
    log_attempt("job_assigned", assignment);
    if (!actions_.has_room(attempts_.size() - 1)) attempt.stage = Stage::refused;
  } else {
    // The market has not accepted any report about it.
    attempt.assignment.attempt.token = assignment.attempt.token;
    attempt.answer = ReportState::none;
    attempt.outcome = ReportState::none;
    if (attempt.stage == Stage::ended) queue_outcome(attempt);
  }
  queue_answer(attempt);
}

void Attempts::stop(const AttemptName& name, std::string_view reason) {
  const Attempt* attempt = find(name);
  if (attempt == nullptr) return;
  log_attempt("job_stopped", attempt->assignment, reason);
  // Malformed content of an attempt is its last report, with the CPU time that is paid.
  if (reason != name_of(FailureCode::unreportable)) report_cpu_time(*attempt);
  remove(name);
}

void Attempts::report_cpu_time(const Attempt& attempt) {
  const auto& key = attempt.assignment.attempt;
  const bool is_running = attempt.stage == Stage::running;
  if (attempt.outcome == ReportState::sent || (!is_running && attempt.verdict.cpu_ms == 0)) return;
  queue_no_reply({.attempt = key,
                  .kind = AttemptOutcome::cancelled,
                  .cpu_ms = is_running ? cpu_ms_of(attempt) : attempt.verdict.cpu_ms});
}

std::int64_t Attempts::cpu_ms_of(const Attempt& attempt) const {
  return attempt.cpu_ms_before + actions_.cpu_ms(attempt.assignment.attempt.name);
}

bool Attempts::keep(const AttemptName& name) {
  Attempt* attempt = find(name);
  if (attempt == nullptr) return false;
  queue_answer(*attempt);
  if (attempt->stage == Stage::ended) queue_outcome(*attempt);
  return true;
}

void Attempts::answer_acknowledged(const AttemptName& name) {
  Attempt* attempt = find(name);
  if (attempt == nullptr) return;
  if (attempt->stage == Stage::refused) return remove(name);
  attempt->answer = ReportState::acknowledged;
}

void Attempts::outcome_acknowledged(const AttemptName& name) {
  const Attempt* attempt = find(name);
  if (attempt == nullptr) return;
  if (log::writes(log::Level::info))
    log::info("job_settled", {{"job", name.job.text()},
                              {"attempt", name.number},
                              {"request", request_of(attempt->assignment)},
                              {"outcome", name_of(attempt->kind)},
                              {"cpu_ms", attempt->verdict.cpu_ms}});
  remove(name);
}

void Attempts::answer_rejected(const AttemptName& name, std::string_view code, Time now) {
  Attempt* attempt = find(name);
  if (attempt == nullptr) return;
  if (!is_retryable(code)) return remove(name);
  attempt->answer = ReportState::none;
  attempt->retry_at = now + retry_delay(0);
}

void Attempts::outcome_rejected(const AttemptName& name, std::string_view code, std::string_view why,
                                Time now) {
  Attempt* attempt = find(name);
  if (attempt == nullptr) return;
  attempt->outcome = ReportState::none;
  if (code == "quota_exceeded" && !attempt->files.empty()) {
    attempt->files.clear();
    fail(*attempt, FailureCode::quota_exceeded, "the result does not fit its owner's storage");
    queue_outcome(*attempt);
  } else if (is_retryable(code)) {
    attempt->retry_at = now + retry_delay(0);
  } else if (attempt->failure_code != FailureCode::unreportable) {
    fail_unreportable(*attempt, why);
    queue_outcome(*attempt);
  } else {
    remove(name);
  }
}

// --- results of AttemptActions

void Attempts::fetch(Attempt& attempt) {
  attempt.stage = Stage::fetching;
  attempt.transfer_token = attempt.assignment.attempt.token;
  actions_.fetch(attempt.assignment, attempt.resume.report.skipped);
}

void Attempts::deliver(Attempt& attempt) {
  attempt.stage = Stage::delivering;
  attempt.transfer_token = attempt.assignment.attempt.token;
  actions_.deliver(attempt.assignment.attempt, attempt.verdict);
}

bool Attempts::retry_or_remove(Attempt& attempt, const TransferFault& fault, Time now) {
  constexpr std::array<std::string_view, 4> kAttemptIsOver{"stale_attempt", "wrong_state", "not_found",
                                                           "forbidden"};
  const AttemptName name = attempt.assignment.attempt.name;
  if (!fault) {
    attempt.failures = 0;
    return false;
  }
  log::warn("transfer_failed", {{"job", name.job.text()},
                                {"attempt", name.number},
                                {"request", request_of(attempt.assignment)},
                                {"code", fault.code},
                                {"why", fault.message}});
  const bool has_new_token = attempt.transfer_token != attempt.assignment.attempt.token;
  if (std::ranges::contains(kAttemptIsOver, fault.code) && !has_new_token) {
    report_cpu_time(attempt);
    remove(name);
    return true;
  }
  // The machine's own token may have been replaced meanwhile.
  const bool retry = has_new_token || fault.code == "unauthenticated" || is_retryable(fault.code);
  if (!retry || ++attempt.failures > kTransferFailuresMax) return false;
  attempt.retry_at = now + retry_delay(attempt.failures);
  return true;
}

void Attempts::on_fetched(const AttemptName& name, const TransferFault& fault, Time now,
                          ResumeReport resume) {
  Attempt* attempt = find(name);
  if (attempt == nullptr || attempt->stage != Stage::fetching || retry_or_remove(*attempt, fault, now))
    return;
  if (const auto code = failure_code_of(fault, {FailureCode::limit_disc, FailureCode::invalid_files})) {
    fail(*attempt, *code, fault.message);
    return end(*attempt);
  }
  if (fault) return hand_back(*attempt, fault.message);
  attempt->stage = Stage::running;
  attempt->resume.report = std::move(resume);
  log_attempt("job_began", attempt->assignment);
  attempt->is_frozen = false;
  actions_.run(attempt->assignment);
  if (attempt->resume.report.sequence == 0) {  // else on_resumed() follows
    if (attempt->assignment.resumable) attempt->schedule.began(now);
    if (attempt->assignment.resume) report_resume(*attempt);
  }
  step_pause(*attempt, now);
}

void Attempts::on_progress(const AttemptName& name, double fraction, std::string message) {
  Attempt* attempt = find(name);
  if (attempt == nullptr || attempt->stage != Stage::running) return;
  if (!attempt->progress) progresses_.push_back(name);
  attempt->progress.emplace(fraction, clean_text(message, limits::kMessageTextBytesMax));
}

void Attempts::on_run_ended(const AttemptName& name, Verdict verdict, Time now) {
  Attempt* attempt = find(name);
  if (attempt == nullptr || attempt->stage != Stage::running) return;
  if (log::writes(log::Level::info))
    log::info("job_ended", {{"job", name.job.text()},
                            {"attempt", name.number},
                            {"request", request_of(attempt->assignment)},
                            {"ending", name_of(verdict.ending)},
                            {"cpu_ms", verdict.cpu_ms},
                            {"wall_ms", verdict.wall_ms},
                            {"ram_kb_peak", verdict.ram_kb_peak}});
  attempt->schedule.ended();
  if (attempt->keeping.is_uploading()) actions_.cancel_upload(name);
  if (verdict.resume_failed && attempt->resume.report.sequence != 0)
    return skip_checkpoint(*attempt, verdict);
  verdict.cpu_ms += attempt->cpu_ms_before;
  attempt->verdict = std::move(verdict);
  switch (attempt->verdict.ending) {
    case Ending::completed:
      break;
    case Ending::cancelled:  // not by the market, or it would have been removed
    case Ending::sandbox_failure:
      return hand_back(*attempt, attempt->verdict.message);
    case Ending::r_error:
    case Ending::limit:
    case Ending::killed:
      fail(*attempt, failure_code_of(attempt->verdict).value(), attempt->verdict.message);
      break;
  }
  // The market accepts no records after the outcome, so the last ones are sent first.
  attempt->stage = Stage::flushing;
  deliver_if_flushed(*attempt, now);
}

void Attempts::on_delivered(const AttemptName& name, const TransferFault& fault,
                            std::vector<protocol::OutcomeFile> files, Time now) {
  Attempt* attempt = find(name);
  if (attempt == nullptr || attempt->stage != Stage::delivering || retry_or_remove(*attempt, fault, now))
    return;
  constexpr std::array<std::string_view, 4> kMalformed{"invalid_field", "malformed_request", "chunks_missing",
                                                       "unsupported_media_type"};
  if (const auto code = failure_code_of(
          fault, {FailureCode::quota_exceeded, FailureCode::too_large, FailureCode::no_file})) {
    fail(*attempt, *code, fault.message);
  } else if (std::ranges::contains(kMalformed, fault.code)) {
    fail_unreportable(*attempt, fault.message);
  } else if (fault) {
    return hand_back(*attempt, fault.message);
  } else {
    attempt->files = std::move(files);
  }
  end(*attempt);
}

void Attempts::fail(Attempt& attempt, FailureCode code, std::string_view detail) {
  attempt.kind = AttemptOutcome::failed;
  attempt.failure_code = code;
  attempt.failure_detail = clean_text(detail, limits::kFailureDetailBytesMax);
}

void Attempts::fail_unreportable(Attempt& attempt, std::string_view why) {
  log_attempt("job_unreportable", attempt.assignment, why);
  attempt.files.clear();
  fail(attempt, FailureCode::unreportable,
       "the market does not accept the job's results: " + std::string{why});
}

void Attempts::hand_back(Attempt& attempt, std::string_view why) {
  log_attempt("job_handed_back", attempt.assignment, why);
  attempt.kind = AttemptOutcome::handed_back;
  attempt.records = WatchedRecordQueue{{}};  // another machine runs the job again
  attempt.failure_code.reset();
  attempt.failure_detail.clear();
  end(attempt);
}

void Attempts::end(Attempt& attempt) {
  attempt.stage = Stage::ended;
  queue_outcome(attempt);
}

// --- all attempts

std::vector<AttemptKey> Attempts::keys() const {
  std::vector<AttemptKey> keys;
  for (const auto& [_, attempt] : attempts_) keys.push_back(attempt.assignment.attempt);
  return keys;
}

std::vector<protocol::Beat::Running> Attempts::running() const {
  std::vector<protocol::Beat::Running> running;
  for (const auto& [name, attempt] : attempts_) {
    const bool accepted = attempt.answer == ReportState::sent || attempt.answer == ReportState::acknowledged;
    if (!accepted || attempt.stage == Stage::refused || attempt.outcome == ReportState::sent) continue;
    running.push_back({name, attempt.stage == Stage::running ? cpu_ms_of(attempt) : attempt.verdict.cpu_ms});
  }
  return running;
}

std::optional<AttemptKey> Attempts::key(const AttemptName& name) const {
  const auto entry = attempts_.find(name);
  if (entry == attempts_.end()) return std::nullopt;
  return entry->second.assignment.attempt;
}

void Attempts::connection_lost() {
  for (auto& [_, attempt] : attempts_) {
    if (attempt.answer != ReportState::acknowledged) attempt.answer = ReportState::none;
    attempt.outcome = ReportState::none;
    attempt.records.connection_lost();
  }
  accepts_.clear();
  refusals_.clear();
  outcomes_.clear();
}

std::vector<AttemptKey> Attempts::hand_back(std::size_t count_max) {
  std::vector<AttemptKey> keys;
  for (const auto& [_, attempt] : attempts_) {
    if (keys.size() < count_max && attempt.outcome != ReportState::sent)
      keys.push_back(attempt.assignment.attempt);
  }
  for (const auto& key : keys) remove(key.name);
  return keys;
}

void Attempts::remove_all() {
  while (!attempts_.empty()) remove(attempts_.begin()->first);
}

Time Attempts::due() const {
  Time due = Time::max();
  for (const auto& [_, attempt] : attempts_)
    due = std::min({due, attempt.retry_at, attempt.records.due(), checkpoints_due(attempt)});
  return due;
}

void Attempts::wake(Time now) {
  for (auto& [_, attempt] : attempts_) {
    attempt.records.wake(now);
    upload_next(attempt, now);
    wake_checkpoints(attempt, now);
    if (attempt.retry_at > now) continue;
    attempt.retry_at = Time::max();
    switch (attempt.stage) {
      case Stage::fetching:
        fetch(attempt);
        break;
      case Stage::delivering:
        deliver(attempt);
        break;
      case Stage::ended:
        queue_outcome(attempt);
        break;
      case Stage::assigned:
      case Stage::refused:
      case Stage::running:
      case Stage::flushing:
        break;
    }
    queue_answer(attempt);
  }
}

}  // namespace remotist::volunteer
