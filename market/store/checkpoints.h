// Recording and dropping checkpoints. All but checkpoint_caller() run in the caller's transaction; those that
// write require lock_jobs() (core/store/locks.h), and lock_storages() where they say so. Reading them:
// checkpoint_list.h.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/chunk.h"
#include "core/id.h"
#include "core/pg/connection.h"
#include "core/protocol.h"
#include "core/result.h"
#include "market/store/caller.h"

namespace remotist::market {

// Where in its script a job stood.
struct CheckpointPosition {
  std::string file;
  std::int64_t line = 0;
  std::string call;
};

struct CheckpointProgress {
  double fraction;
  std::string message;
};

// What a machine says of a checkpoint; service/checkpoint_bodies.h validates the fields.
struct CheckpointManifest {
  int number = 0;  // of the attempt's checkpoints
  int format = 0;
  std::string r_version;
  std::string architecture;
  std::vector<std::string> packages;  // "name version" each
  std::int64_t state_bytes = 0;
  std::int64_t size_bytes = 0;
  std::int64_t sent_bytes = 0;
  double pause_ms = 0;
  std::int64_t interval_ms = 0;
  CheckpointPosition position;
  std::int64_t attempt_cpu_ms = 0;
  std::int64_t age_ms = 0;  // since the state was captured
  std::optional<CheckpointProgress> progress;
  std::map<std::string, std::int64_t> watched;  // number of each variable's last record before it
  std::optional<ChunkName> log;
  std::int64_t log_left_out = 0;
  std::vector<ChunkName> chunks;
};

// A machine that works on a job and may record checkpoints of it.
struct CheckpointCaller {
  protocol::AttemptName attempt;
  bool resumable;                      // the job's owner wants checkpoints
  std::optional<std::string> storage;  // of the job's checkpoints; none before the first chunk
  std::vector<std::string> watched;
  bool said_resumed;  // it has said where it went on from, or there was nothing to go on from
};
// Refuses with unauthenticated, stale_attempt, not_found, and users with forbidden.
Result<CheckpointCaller> checkpoint_caller(pg::Connection& db, const UserOrAttempt& caller, JobId job);

// The storage of the job's checkpoints, if there is none and the caller has the current attempt.
void create_checkpoint_storage(pg::Connection& db, const UserOrAttempt& caller);

struct RecordedCheckpoint {
  std::optional<int> sequence;  // recorded under this number
  int newest_number;            // of the attempt; 0: it has recorded none
};
RecordedCheckpoint recorded_checkpoint(pg::Connection& db, const protocol::AttemptName& attempt, int number);

// Gives it the job's next sequence, without its chunks. The job's losses count from 0 again.
int insert_checkpoint(pg::Connection& db, const protocol::AttemptName& attempt,
                      const CheckpointManifest& manifest);
// A chunk of it that is not present in the storage. Requires lock_storages().
std::optional<std::string> missing_chunk(pg::Connection& db, const std::optional<std::string>& storage,
                                         const CheckpointManifest& manifest);
void insert_checkpoint_chunks(pg::Connection& db, JobId job, int sequence,
                              const CheckpointManifest& manifest);

// Deletes all but the newest limits::kCheckpointsKept usable ones. Requires lock_storages().
void delete_older_checkpoints(pg::Connection& db, JobId job);
// Drops the oldest one, an unusable one first. False: there is only one that is usable, and it stays.
// Requires lock_storages().
bool drop_oldest_checkpoint(pg::Connection& db, JobId job);
// Ends the presence of chunks that no checkpoint of the job has. Requires lock_storages().
void end_unneeded_presences(pg::Connection& db, JobId job);

// What the machine says of the next checkpoint: its interval, and why there is none.
void note_checkpoint(pg::Connection& db, JobId job, std::int64_t interval_ms,
                     const std::optional<std::string>& problem);

// Makes workers delete the checkpoints of ended jobs that are left; as a rule there are none. In no
// transaction.
void release_checkpoints_of_ended_jobs(pg::Connection& db);

}  // namespace remotist::market
