#include "market/store/jobs.h"

#include "core/pg/statement.h"
#include "market/store/caller.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

std::optional<std::string> text_or_none(const pqxx::field& field) {
  return field.as<std::optional<std::string>>();
}

std::vector<std::string> strings_of(const pqxx::field& field) {
  const auto array = field.as_sql_array<std::string>();
  return {array.cbegin(), array.cend()};
}

Job job_of(const pqxx::row& row) {
  return Job{.id = JobId::parse(row["id"].view()).value(),
             .name = row["name"].as<std::string>(),
             .exec_file = row["exec_file"].as<std::string>(),
             .state = job_state_named(row["state"].view()).value(),
             .cpu_cores = row["cpu_cores"].as<std::int64_t>(),
             .ram_mb = row["ram_mb"].as<std::int64_t>(),
             .disc_mb = row["disc_mb"].as<std::int64_t>(),
             .price = Credits::micro(row["price_micro"].as<std::int64_t>()),
             .watched_variables = strings_of(row["watched_variables"]),
             .attempt_number = row["attempt_number"].as<int>(),
             .created_at = row["created_at"].as<std::string>(),
             .deadline = text_or_none(row["deadline"]),
             .submitted_at = text_or_none(row["submitted_at"]),
             .ended_at = text_or_none(row["ended_at"]),
             .failure_code = text_or_none(row["failure_code"]),
             .failure_detail = text_or_none(row["failure_detail"])};
}

// The request was made before under the same key: give what it made, if it was this request.
Result<Job> job_made_before(pg::Session& db, std::string_view token_hash, const std::string& account,
                            const Idempotency& idempotency) {
  const auto row =
      pg::read(db, sql::job_by_idempotency_key, pqxx::params{account, idempotency.key}).one_row();
  if (pg::text_of(row["request_sha256"]) != idempotency.request_sha256) {
    return refuse(Code::idempotency_mismatch,
                  "this Idempotency-Key has already made another job: use a fresh key for each new job");
  }
  return view_job(db, token_hash, JobId::parse(row["id"].view()).value());
}

}  // namespace

Result<Job> create_job(pg::Session& db, std::string_view token_hash, const NewJob& job,
                       const std::optional<Idempotency>& idempotency, RequestId request) {
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
  try {
    const auto rows = pg::write(db, sql::job_create, params);
    if (rows.empty()) return no_valid_token();
    if (rows[0]["id"].is_null()) {
      return job_made_before(db, token_hash, rows[0]["caller"].as<std::string>(), idempotency.value());
    }
    return job_of(rows[0]);
  } catch (const pg::ConstraintViolated& violated) {
    if (violated.constraint() != "ledger_balance_is_not_negative") throw;
    return refuse(Code::insufficient_credits,
                  "the price is more than the account holds: lower it, or lend a machine to earn credits",
                  "price");
  }
}

Result<Job> view_job(pg::Session& db, std::string_view token_hash, JobId id) {
  const auto rows = pg::read(db, sql::job_view, pqxx::params{pg::bytes_of(token_hash), id.text()});
  if (rows.empty()) return no_valid_token();
  if (rows[0]["id"].is_null()) return refuse(Code::not_found, "there is no job " + id.text() + " of yours");
  return job_of(rows[0]);
}

}  // namespace remotist::market
