// What Attempts has done about checkpoints: by guests, and by transfers to the market.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol.h"
#include "volunteer/agent/checkpoint_keeping.h"
#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer {

// A watched variable as of a checkpoint.
struct WatchedState {
  std::string variable;
  std::int64_t number = 0;            // of the last record before it in this attempt; 0: none
  std::optional<WatchedMark> mark{};  // none: the market does not have that record's value
};

// What the market is told about a checkpoint whose chunks it has.
struct CheckpointRecord {
  CheckpointKeeping::Taken taken;
  CheckpointKeeping::Uploaded uploaded;
  std::uint64_t number = 0;  // of those of the attempt; again the same when it is recorded again
  std::vector<WatchedState> watched{};
  std::int64_t attempt_cpu_ms = 0;  // of the attempt when the state was captured
  std::int64_t interval_ms = 0;     // until the next one
};

// What the job's owner is told about checkpoints that do not come.
struct CheckpointNote {
  std::int64_t interval_ms = 0;
  std::string problem{};  // empty: none any more
};

// A checkpoint that an attempt could not resume, and why.
struct SkippedCheckpoint {
  std::int64_t sequence;
  std::string reason;
  bool operator==(const SkippedCheckpoint&) const = default;
};
struct ResumeReport {
  std::int64_t sequence = 0;  // that the attempt goes on from; 0: from the beginning
  std::vector<SkippedCheckpoint> skipped{};
};

// None of these may call Attempts back before it returns.
class CheckpointActions {
 public:
  virtual ~CheckpointActions() = default;
  // Asks the attempt's guest; `full`: for one whose file has all of its frames.
  virtual void request_checkpoint(const protocol::AttemptName& attempt, bool full) = 0;
  // Uploads the chunks that the market lacks; then Attempts::on_checkpoint_uploaded().
  virtual void upload_checkpoint(const protocol::AttemptKey& attempt,
                                 const CheckpointKeeping::Taken& taken) = 0;
  // The upload that is going on ends early, with the fault `cancelled`.
  virtual void cancel_upload(const protocol::AttemptName& attempt) = 0;
  // From now on uploads of this attempt's checkpoints are as fast as they can be.
  virtual void hurry_uploads(const protocol::AttemptName& attempt) = 0;
  // Records it at the market; then Attempts::on_checkpoint_recorded().
  virtual void record_checkpoint(const protocol::AttemptKey& attempt, CheckpointRecord record) = 0;
  // The market has recorded it: the guest's later ones may leave its frames out.
  virtual void confirm_checkpoint(const protocol::AttemptName& attempt, std::uint64_t number) = 0;
  virtual void discard_checkpoint(const protocol::AttemptName& attempt,
                                  const std::filesystem::path& file) = 0;
  // Then Attempts::on_note_sent().
  virtual void send_note(const protocol::AttemptKey& attempt, const CheckpointNote& note) = 0;
  // Then Attempts::on_resume_reported().
  virtual void report_resume(const protocol::AttemptKey& attempt, const ResumeReport& report) = 0;
};

}  // namespace remotist::volunteer
