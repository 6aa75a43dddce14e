// Parses the JSON bodies with which machines say something of checkpoints. What is returned has passed its
// checks; nothing here touches the database.
#pragma once

#include "core/json_body.h"
#include "core/result.h"
#include "market/service/record_checkpoint.h"
#include "market/store/checkpoints.h"
#include "market/store/resumed_attempts.h"

namespace remotist::market {

// Everything that is too long, too many, or no text, number or chunk's name is invalid_field.
Result<CheckpointManifest> read_checkpoint_manifest(JsonBody body);
// At most limits::kCheckpointsSkippedMax skipped ones.
Result<ResumeReport> read_resume_report(JsonBody body);
Result<CheckpointNote> read_checkpoint_note(JsonBody body);

}  // namespace remotist::market
