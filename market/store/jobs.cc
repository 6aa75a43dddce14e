#include "market/store/jobs.h"

#include <utility>

#include "core/pg/statement.h"
#include "market/store/caller.h"
#include "market/store/job_row.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

// The rules of the database that a client's wish may break.
Refusal refusal_for(const pg::ConstraintViolated& violated) {
  if (auto refusal = quota_refusal(violated.constraint())) return *refusal;
  if (violated.constraint() != "ledger_balance_is_not_negative") throw violated;
  return refuse(Code::insufficient_credits,
                "the price is more than the account holds: lower it, or lend a machine to earn credits",
                "price");
}

// What the statements that change a job answer first: a caller, and the state in which they found the job.
Result<JobState> state_found(const pqxx::result& rows, JobId id) {
  if (rows.empty()) return no_valid_token();
  const auto state = rows[0]["before"];
  if (state.is_null()) return no_such_job(id);
  return job_state_named(state.view()).value();
}

// The request was made before under the same key: gives what it made, if it was this request. None: the key
// is new.
std::optional<Result<Job>> job_made_before(pg::Connection& db, std::string_view token_hash,
                                           const std::string& account, const Idempotency& idempotency) {
  const auto rows = pg::read(db, sql::job_by_idempotency_key, pqxx::params{account, idempotency.key});
  if (rows.empty()) return std::nullopt;
  if (pg::text_of(rows[0]["request_sha256"]) != idempotency.request_sha256) {
    return refuse(Code::idempotency_mismatch,
                  "this Idempotency-Key has already made another job: use a fresh key for each new job");
  }
  return view_job(db, token_hash, JobId::parse(rows[0]["id"].view()).value());
}

Refusal too_many_submissions(const AccountLimits& most) {
  return refuse(Code::rate_limited, "an account submits at most " + std::to_string(most.submissions_an_hour) +
                                        " jobs an hour: go on in the next one");
}

Refusal too_many_jobs(std::int64_t jobs, bool submit, const AccountLimits& most) {
  if (jobs >= most.jobs) {
    return refuse(Code::quota_exceeded, "an account has at most " + std::to_string(most.jobs) +
                                            " jobs, and those that have ended count: delete some");
  }
  if (submit) return too_many_submissions(most);
  return refuse(Code::quota_exceeded, "an account has at most " + std::to_string(most.uploading_jobs) +
                                          " jobs that are not submitted yet: submit or delete some");
}

}  // namespace

Refusal wrong_state(JobState state, const std::string& rule) {
  return refuse(Code::wrong_state, "the job is " + std::string{name_of(state)} + ": " + rule);
}

Result<Job> create_job(pg::Connection& db, std::string_view token_hash, const NewJob& job,
                       const std::optional<Idempotency>& idempotency, RequestId request,
                       const AccountLimits& most) {
  pqxx::params params{pg::bytes_of(token_hash),
                      JobId::make().text(),
                      job.name,
                      job.exec_file,
                      job.cpu_cores,
                      job.ram_mb,
                      job.disc_mb,
                      job.price.micro()};
  params.append(job.deadline ? std::optional{job.deadline->count()} : std::nullopt);
  params.append(job.watched_variables);
  params.append(idempotency ? std::optional{idempotency->key} : std::nullopt);
  params.append(idempotency ? std::optional{pg::bytes_of(idempotency->request_sha256)} : std::nullopt);
  params.append(job.code ? std::optional{pg::bytes_of(*job.code)} : std::nullopt);
  params.append(job.submit);
  for (int i = 0; i < 3; ++i) params.append(uuid_text(uuid_v7()));  // escrow, transfer, message
  params.append(request.text());
  params.append(most.jobs);
  params.append(most.uploading_jobs);
  params.append(most.submissions_an_hour);
  params.append(job.resumable);
  try {
    const auto rows = pg::write(db, sql::job_create, params);
    if (rows.empty()) return no_valid_token();
    if (!rows[0]["id"].is_null()) return job_of(rows[0]);
    if (idempotency) {
      const auto account = rows[0]["caller"].as<std::string>();
      if (auto before = job_made_before(db, token_hash, account, *idempotency)) return std::move(*before);
    }
    return too_many_jobs(rows[0]["jobs"].as<std::int64_t>(), job.submit, most);
  } catch (const pg::ConstraintViolated& violated) {
    return refusal_for(violated);
  }
}

Result<Job> view_job(pg::Connection& db, std::string_view token_hash, JobId id) {
  const auto rows = pg::read(db, sql::job_view, pqxx::params{pg::bytes_of(token_hash), id.text()});
  if (rows.empty()) return no_valid_token();
  if (rows[0]["id"].is_null()) return no_such_job(id);
  return job_of(rows[0]);
}

Result<JobPage> list_jobs(pg::Connection& db, std::string_view token_hash, std::optional<JobState> state,
                          int page, int rows_a_page) {
  pqxx::params params{pg::bytes_of(token_hash)};
  params.append(state ? std::optional{name_of(*state)} : std::nullopt);
  params.append(page);
  params.append(rows_a_page);
  const auto rows = pg::read(db, sql::job_list, params);
  if (rows.empty()) return no_valid_token();
  return job_page_of(rows, rows_a_page);
}

Result<void> submit_job(pg::Connection& db, std::string_view token_hash, JobId id, RequestId request,
                        const AccountLimits& most) {
  try {
    const auto rows = pg::write(
        db, sql::job_submit,
        pqxx::params{pg::bytes_of(token_hash), id.text(), uuid_text(uuid_v7()), uuid_text(uuid_v7()),
                     uuid_text(uuid_v7()), request.text(), most.submissions_an_hour});
    const auto before = state_found(rows, id);
    if (!before) return before.refusal();
    if (!rows[0]["after"].is_null()) return {};
    if (*before != JobState::uploading) return wrong_state(*before, "it was submitted before");
    if (rows[0]["has_code"].as<bool>()) return too_many_submissions(most);
    return wrong_state(*before, "send its exec_file first (POST /job/{id}/code)");
  } catch (const pg::ConstraintViolated& violated) {
    return refusal_for(violated);
  }
}

Result<LockedJob> lock_job(pg::Connection& db, std::string_view token_hash, JobId id) {
  const auto rows = pg::write(db, sql::job_lock, pqxx::params{pg::bytes_of(token_hash), id.text()});
  const auto state = state_found(rows, id);
  if (!state) return state.refusal();
  return LockedJob{.state = *state,
                   .attempt_number = rows[0]["attempt_number"].as<int>(),
                   .caller = AccountId::parse(rows[0]["caller"].view()).value(),
                   .is_callers = !rows[0]["others"].as<bool>()};
}

Result<JobState> lock_job_to_delete(pg::Connection& db, std::string_view token_hash, JobId id) {
  return state_found(pg::write(db, sql::job_delete_lock, pqxx::params{pg::bytes_of(token_hash), id.text()}),
                     id);
}

std::map<JobId, std::int64_t> job_versions(pg::Connection& db, const std::vector<JobId>& jobs) {
  std::vector<std::string> ids;
  for (const auto& job : jobs) ids.push_back(job.text());
  std::map<JobId, std::int64_t> versions;
  for (const auto& row : pg::read(db, sql::job_versions, pqxx::params{ids})) {
    versions.emplace(JobId::parse(row["id"].view()).value(), row["version"].as<std::int64_t>());
  }
  return versions;
}

}  // namespace remotist::market
