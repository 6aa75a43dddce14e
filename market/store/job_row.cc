#include "market/store/job_row.h"

#include <utility>

#include "core/pg/statement.h"

namespace remotist::market {
namespace {

std::optional<std::string> text_or_none(const pqxx::field& field) {
  return field.as<std::optional<std::string>>();
}

}  // namespace

Job listed_job_of(const pqxx::row& row) {
  return Job{.id = JobId::parse(row["id"].view()).value(),
             .account = AccountId::parse(row["account_id"].view()).value(),
             .name = row["name"].as<std::string>(),
             .exec_file = row["exec_file"].as<std::string>(),
             .state = job_state_named(row["state"].view()).value(),
             .cpu_cores = row["cpu_cores"].as<std::int64_t>(),
             .ram_mb = row["ram_mb"].as<std::int64_t>(),
             .disc_mb = row["disc_mb"].as<std::int64_t>(),
             .price = Credits::micro(row["price_micro"].as<std::int64_t>()),
             .watched_variables = {},
             .attempt_number = row["attempt_number"].as<int>(),
             .created_at = row["created_at"].as<std::string>(),
             .deadline = text_or_none(row["deadline"]),
             .submitted_at = text_or_none(row["submitted_at"]),
             .ended_at = text_or_none(row["ended_at"]),
             .failure_code = text_or_none(row["failure_code"]),
             .failure_detail = {},
             .version = row["version"].as<std::int64_t>(),
             .progress = row["progress"].as<std::optional<double>>(),
             .progress_message = {}};
}

Job job_of(const pqxx::row& row) {
  Job job = listed_job_of(row);
  job.watched_variables = pg::texts_of(row["watched_variables"]);
  job.failure_detail = text_or_none(row["failure_detail"]);
  job.progress_message = text_or_none(row["progress_message"]);
  job.resumable = row["resumable"].as<bool>();
  job.checkpoint_interval_ms = row["checkpoint_interval_ms"].as<std::optional<std::int64_t>>();
  job.checkpoint_problem = text_or_none(row["checkpoint_problem"]);
  job.checkpoint_at = text_or_none(row["checkpoint_at"]);
  job.resume_until = text_or_none(row["resume_until"]);
  job.resume_problem = text_or_none(row["resume_problem"]);
  return job;
}

JobPage job_page_of(const pqxx::result& rows, int rows_a_page) {
  JobPage listed{{}, std::cmp_greater(rows.size(), rows_a_page)};
  for (const auto& row : rows) {
    if (row["id"].is_null() || std::cmp_equal(listed.jobs.size(), rows_a_page)) break;
    listed.jobs.push_back(listed_job_of(row));
  }
  return listed;
}

}  // namespace remotist::market
