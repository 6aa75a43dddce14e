// Transfers of checkpoints between a guest's folder and the market. Blocking; run with BackgroundCalls.
// Memory use is bounded: one chunk at a time, and the names of all.
//
// The chunks of a checkpoint at the market are the head, which the agent makes, and then those of the file.
// The head is JSON: the file's manifest as it was, and kind and hash of the newest record of each watched
// variable. Chunks and heads come from other machines and from guests: nothing in them is trusted.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "volunteer/agent/checkpoint_actions.h"
#include "volunteer/agent/machine_software.h"
#include "volunteer/agent/market_requests.h"
#include "volunteer/agent/upload_pace.h"

namespace remotist::volunteer {

struct CheckpointUpload {
  TransferFault fault;
  CheckpointKeeping::Uploaded chunks;  // without a fault
};
// Uploads the chunks of the file that the market lacks, their frames as they are. Those that were uploaded
// before an interruption are not uploaded again.
CheckpointUpload upload_checkpoint(Rest& rest, const AttemptCredentials& credentials,
                                   const CheckpointTaken& taken, UploadPace& pace,
                                   const UploadControl& control, const std::atomic<bool>& stopping);

struct RecordedCheckpoint {
  TransferFault fault;
  std::int64_t sequence = 0;  // of the job's checkpoints
};
// Uploads head and log, and tells the market that the checkpoint is complete.
RecordedCheckpoint record_checkpoint(Rest& rest, const AttemptCredentials& credentials,
                                     const CheckpointRecord& record);

TransferFault send_checkpoint_note(Rest& rest, const AttemptCredentials& credentials,
                                   const CheckpointNote& note);
TransferFault send_resume_report(Rest& rest, const AttemptCredentials& credentials,
                                 const ResumeReport& report);

struct FetchedCheckpoint {
  TransferFault fault;
  ResumeReport report;                       // what was chosen, and all that were skipped
  std::optional<ResumeFrom> from{};          // none: the job starts from the beginning
  std::optional<std::int64_t> cpu_ms_max{};  // that the job's price pays for after the checkpoint
};
// Fetches the newest checkpoint of the job that this machine can resume and that is not among `skipped` into
// the guest's folder. One that is damaged, gone or too large is skipped. Faults are those of the connection
// and of this machine's disc.
FetchedCheckpoint fetch_checkpoint(Rest& rest, const AttemptCredentials& credentials,
                                   const MachineSoftware& machine, const GuestSpec& guest,
                                   std::vector<SkippedCheckpoint> skipped);

}  // namespace remotist::volunteer
