#include "market/store/assignment_row.h"

#include "core/digest.h"
#include "core/json.h"
#include "core/pg/statement.h"

namespace remotist::market {
namespace {

std::vector<protocol::AssignedFile> files_of(const pqxx::field& field) {
  std::vector<protocol::AssignedFile> files;
  if (field.is_null()) return files;
  for (const auto& file : json_in(field.view())) {
    files.push_back({file.at("path"), bytes_of_base64(file.at("base64").get<std::string>()).value()});
  }
  return files;
}

}  // namespace

protocol::AttemptName attempt_name_of(const pqxx::row& row) {
  return {JobId::parse(row["job_id"].view()).value(), row["number"].as<int>()};
}

protocol::Assignment assignment_of(const pqxx::row& row, std::string token) {
  std::optional<RequestId> request_id;
  if (!row["request_id"].is_null()) request_id = RequestId::parse(row["request_id"].view());
  return {.attempt = {attempt_name_of(row), std::move(token)},
          .exec_file = row["exec_file"].as<std::string>(),
          .cpu_cores = row["cpu_cores"].as<std::int64_t>(),
          .ram_mb = row["ram_mb"].as<std::int64_t>(),
          .disc_mb = row["disc_mb"].as<std::int64_t>(),
          .cpu_ms_max = row["cpu_ms_max"].as<std::optional<std::int64_t>>(),
          .deadline = row["deadline"].as<std::optional<std::string>>(),
          .watched_variables = pg::texts_of(row["watched_variables"]),
          .files = files_of(row["files"]),
          .request_id = request_id,
          .resumable = row["resumable"].as<bool>(),
          .resume = row["resume"].as<bool>()};
}

}  // namespace remotist::market
