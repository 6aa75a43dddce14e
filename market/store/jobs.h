// Jobs in the database. The caller's token, its right and the row are one statement.
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
#include "core/pg/session.h"

namespace remotist::market {

struct Origin;

// What a client asks for; the rules about each field are service/jobs.h's.
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
  std::optional<double> progress;  // 0 … 1, as the script says
  std::optional<std::string> progress_message;
};

// A key that makes a request safe to repeat, with the digest of what was asked under it.
struct Idempotency {
  std::string key;
  std::string request_sha256;
};

// What an account may have and do.
struct AccountLimits {
  std::int64_t jobs = limits::kJobsPerAccountMax;
  std::int64_t uploading_jobs = limits::kUploadingJobsPerAccountMax;
  std::int64_t submissions_an_hour = limits::kSubmissionsPerAccountHourMax;
};

// Refuses with unauthenticated, insufficient_credits, idempotency_mismatch, quota_exceeded or rate_limited.
// With an Idempotency that was used before for the same request, returns the job which that request made, and
// makes nothing.
Result<Job> create_job(pg::Session& db, std::string_view token_hash, const NewJob& job,
                       const std::optional<Idempotency>& idempotency, RequestId request,
                       const AccountLimits& most = {});

// All of these refuse with unauthenticated or not_found; what the caller may not see does not exist for it.
Result<Job> view_job(pg::Session& db, std::string_view token_hash, JobId id);

struct JobPage {
  std::vector<Job> jobs;  // newest first, without what may be long
  bool more;              // there is a next page
};
Result<JobPage> list_jobs(pg::Session& db, std::string_view token_hash, std::optional<JobState> state,
                          int page, int rows);

// From uploading to queued: the price goes into escrow. A job that is queued already, or was further on, is
// wrong_state; so is one without its exec_file. insufficient_credits, rate_limited.
Result<void> submit_job(pg::Session& db, std::string_view token_hash, JobId id, RequestId request,
                        const AccountLimits& most = {});

// Ends a job, wherever it is, and tells the machine that runs it to stop. What it did is paid and the rest
// given back when it has said how much that was, or after a lease. A cancelled job is cancelled again without
// effect; one that has ended otherwise is wrong_state. As an admin somebody else's, which goes into the audit
// log.
Result<void> cancel_job(pg::Session& db, std::string_view token_hash, JobId id, const Origin& origin);

// Only a job that has ended or was never submitted, else wrong_state.
Result<void> delete_job(pg::Session& db, std::string_view token_hash, JobId id);

// The versions of those that exist.
std::map<JobId, std::int64_t> job_versions(pg::Session& db, const std::vector<JobId>& jobs);

}  // namespace remotist::market
