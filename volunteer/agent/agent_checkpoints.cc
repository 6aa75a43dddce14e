// The part of Agent that does the work of checkpoints. Their uploads have threads of their own, so that
// nothing else waits for a large one.
#include <cerrno>
#include <cstring>
#include <unistd.h>
#include <utility>

#include "core/log.h"
#include "volunteer/agent/agent.h"
#include "volunteer/agent/checkpoint_transfer.h"

namespace remotist::volunteer {

using protocol::AttemptKey;
using protocol::AttemptName;

Agent::LocalAttempt* Agent::local_of(const AttemptName& attempt) {
  const auto entry = guests_.find(attempt);
  return entry == guests_.end() ? nullptr : &local_attempts_.at(entry->second);
}

void Agent::request_checkpoint(const AttemptName& attempt, bool full) {
  const auto& name = guest_of(attempt);
  full ? sandbox_.request_full_checkpoint(name) : sandbox_.request_checkpoint(name);
}

void Agent::upload_checkpoint(const AttemptKey& attempt, const CheckpointKeeping::Taken& taken) {
  const auto& name = guest_of(attempt.name);
  auto& local = local_attempts_.at(name);
  const bool hurried = local.uploads->hurried;
  local.uploads = std::make_shared<UploadControl>();
  local.uploads->hurried = hurried;
  start_transfer(
      checkpoint_transfers_, name,
      [this, attempt, taken, token = session_.token(), control = local.uploads](Rest& rest) {
        return volunteer::upload_checkpoint(rest, {token, attempt}, *taken, upload_pace_, *control,
                                            checkpoint_transfers_.stopping());
      },
      [this, number = taken->number](const LocalAttempt& its, CheckpointUpload upload) {
        attempts_.on_checkpoint_uploaded(its.attempt, number, upload.fault, std::move(upload.chunks),
                                         Clock::now());
      });
}

void Agent::cancel_upload(const AttemptName& attempt) {
  if (auto* const local = local_of(attempt)) cancel_uploads(*local);
}

void Agent::cancel_uploads(LocalAttempt& local) {
  local.uploads->cancelled = true;
  upload_pace_.wake();
}

void Agent::hurry_uploads(const AttemptName& attempt) {
  auto* const local = local_of(attempt);
  if (local == nullptr) return;
  local->uploads->hurried = true;
  upload_pace_.wake();
}

void Agent::record_checkpoint(const AttemptKey& attempt, CheckpointRecord record) {
  const auto number = record.taken->number;
  start_transfer(
      checkpoint_transfers_, guest_of(attempt.name),
      [attempt, record = std::move(record), token = session_.token()](Rest& rest) {
        return volunteer::record_checkpoint(rest, {token, attempt}, record);
      },
      [this, number](const LocalAttempt& its, const RecordedCheckpoint& recorded) {
        attempts_.on_checkpoint_recorded(its.attempt, number, recorded.fault, recorded.sequence,
                                         Clock::now());
      });
}

void Agent::confirm_checkpoint(const AttemptName& attempt, std::uint64_t number) {
  sandbox_.confirm_checkpoint(guest_of(attempt), number);
}

void Agent::discard_checkpoint(const AttemptName& attempt, const std::filesystem::path& file) {
  // Deleting a large file takes time.
  start_transfer(
      transfers_, guest_of(attempt),
      [file](Rest&) {
        if (::unlink(file.c_str()) != 0 && errno != ENOENT)
          log::warn("checkpoint_not_deleted", {{"why", std::strerror(errno)}});
        return 0;
      },
      [](const LocalAttempt&, int) {});
}

void Agent::send_note(const AttemptKey& attempt, const CheckpointNote& note) {
  start_transfer(
      transfers_, guest_of(attempt.name),
      [attempt, note, token = session_.token()](Rest& rest) {
        return send_checkpoint_note(rest, {token, attempt}, note);
      },
      [this](const LocalAttempt& its, const TransferFault& fault) {
        attempts_.on_note_sent(its.attempt, fault, Clock::now());
      });
}

void Agent::report_resume(const AttemptKey& attempt, const ResumeReport& report) {
  start_transfer(
      transfers_, guest_of(attempt.name),
      [attempt, report, token = session_.token()](Rest& rest) {
        return send_resume_report(rest, {token, attempt}, report);
      },
      [this](const LocalAttempt& its, const TransferFault& fault) {
        attempts_.on_resume_reported(its.attempt, fault, Clock::now());
      });
}

}  // namespace remotist::volunteer
