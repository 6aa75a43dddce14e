// Jobs in the database. Each function checks the caller's token and permission in the statement that reads or
// changes the job. What creating and submitting a job costs and how many jobs an account may have are rules
// of SQL: job_create and job_submit of sql/queries/job.sql.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/credits.h"
#include "core/id.h"
#include "core/job_state.h"
#include "core/limits.h"
#include "core/pg/connection.h"

namespace remotist::market {

// A job to create; service/jobs.h validates the fields.
struct NewJob {
  std::string name;
  std::string exec_file;
  std::int64_t cpu_cores = 1;
  std::int64_t ram_mb = 1024;
  std::int64_t disc_mb = 1024;
  Credits price;
  std::optional<std::chrono::seconds> deadline;  // from now
  std::vector<std::string> watched_variables;
  std::optional<std::string> code;  // the text of exec_file, inline
  bool resumable = true;            // machines take checkpoints of it
  bool submit = false;
};

struct Job {
  JobId id;
  AccountId account;
  std::string name;
  std::string exec_file;
  JobState state;
  std::int64_t cpu_cores;
  std::int64_t ram_mb;
  std::int64_t disc_mb;
  Credits price;
  std::vector<std::string> watched_variables;
  int attempt_number;
  std::string created_at;
  std::optional<std::string> deadline;
  std::optional<std::string> submitted_at;
  std::optional<std::string> ended_at;
  std::optional<std::string> failure_code;
  std::optional<std::string> failure_detail;
  std::int64_t version;            // grows with every change
  std::optional<double> progress;  // 0 … 1, as the script reports it
  std::optional<std::string> progress_message;
  bool resumable = true;
  // As the machine that runs it said last.
  std::optional<std::int64_t> checkpoint_interval_ms{};
  std::optional<std::string> checkpoint_problem{};
  std::optional<std::string> checkpoint_at{};  // of its newest usable one
  std::optional<std::string> resume_until{};   // it waits for a machine that can resume it
  std::optional<std::string>
      resume_problem{};  // why its last attempt did not go on from the newest checkpoint
};

// A key that makes a request safe to repeat, with the digest of what was asked under it.
struct Idempotency {
  std::string key;
  std::string request_sha256;
};

// Limits of one account.
struct AccountLimits {
  std::int64_t jobs = limits::kJobsPerAccountMax;
  std::int64_t uploading_jobs = limits::kUploadingJobsPerAccountMax;
  std::int64_t submissions_an_hour = limits::kSubmissionsPerAccountHourMax;
};

// The refusal for what a job in this state does not allow.
Refusal wrong_state(JobState state, const std::string& rule);

// Refuses with unauthenticated, insufficient_credits, idempotency_mismatch, quota_exceeded or rate_limited.
// With an Idempotency that was used before for the same request, returns the job which that request made, and
// makes nothing.
Result<Job> create_job(pg::Connection& db, std::string_view token_hash, const NewJob& job,
                       const std::optional<Idempotency>& idempotency, RequestId request,
                       const AccountLimits& most = {});

// All of these refuse with unauthenticated or not_found; a job that the caller may not see is not_found.
Result<Job> view_job(pg::Connection& db, std::string_view token_hash, JobId id);

struct JobPage {
  std::vector<Job> jobs;  // newest first, without the long fields
  bool more;              // there is a next page
};
Result<JobPage> list_jobs(pg::Connection& db, std::string_view token_hash, std::optional<JobState> state,
                          int page, int rows);

// From uploading to queued: the price goes into escrow. A job that is queued already, or was further on, is
// wrong_state; so is one without its exec_file. insufficient_credits, rate_limited.
Result<void> submit_job(pg::Connection& db, std::string_view token_hash, JobId id, RequestId request,
                        const AccountLimits& most = {});

// A job whose row is locked until the caller's transaction ends.
struct LockedJob {
  JobState state;
  int attempt_number;
  AccountId caller;
  bool is_callers;  // false: an admin has locked another account's job
};
// For the job's owner or an admin.
Result<LockedJob> lock_job(pg::Connection& db, std::string_view token_hash, JobId id);
// For the owner; locks the row FOR UPDATE.
Result<JobState> lock_job_to_delete(pg::Connection& db, std::string_view token_hash, JobId id);

// The versions of those that exist.
std::map<JobId, std::int64_t> job_versions(pg::Connection& db, const std::vector<JobId>& jobs);

}  // namespace remotist::market
