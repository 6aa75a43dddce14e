#include "market/store/job_files.h"

#include <utility>

#include "core/job_state.h"
#include "core/limits.h"
#include "core/pg/arrays.h"
#include "market/store/caller_params.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

constexpr const char* kRoleNames[] = {"code", "data", "output", "made", "log", "error"};

const char* name_of(FileRole role) {
  return kRoleNames[static_cast<std::size_t>(role)];
}

JobFile file_of(const pqxx::row& row) {
  JobFile file{row["path"].as<std::string>(), row["size_bytes"].as<std::int64_t>()};
  if (!row["inline_bytes"].is_null()) file.text = pg::text_of(row["inline_bytes"]);
  for (const auto& chunk : pg::texts_of(row["chunks"]))
    file.chunks.push_back(ChunkName::parse(chunk).value());
  return file;
}

}  // namespace

Result<FilesCaller> files_caller(pg::Connection& db, const UserOrAttempt& caller, JobId job) {
  const auto rows = pg::read(db, sql::job_files_caller, caller_params(caller, job));
  if (rows.empty()) return no_valid_token();
  if (rows[0]["stale"].as<bool>()) return stale_attempt();
  if (!rows[0]["may"].as<bool>()) return no_such_job(job);
  return FilesCaller{.storage = rows[0]["storage_id"].as<std::string>(),
                     .owner = rows[0]["account_id"].as<std::string>(),
                     .state = job_state_named(rows[0]["state"].view()).value()};
}

std::vector<ChunkName> chunks_of(const std::vector<JobFile>& files) {
  std::vector<ChunkName> chunks;
  for (const auto& file : files) chunks.insert(chunks.end(), file.chunks.begin(), file.chunks.end());
  return chunks;
}

void delete_files_of_earlier_attempts(pg::Connection& db, JobId job, int attempt) {
  pg::write(db, sql::job_files_of_earlier_attempts_remove, pqxx::params{job.text(), attempt});
}

void insert_files(pg::Connection& db, JobId job, const std::string& owner, std::optional<int> attempt,
                  FileRole role, const std::vector<JobFile>& files) {
  std::vector<std::string> paths;
  std::vector<std::int64_t> sizes;
  std::vector<std::string> contents;
  std::vector<bool> inlined;
  std::vector<int> chunk_file;
  std::vector<int> chunk_position;
  for (const auto& file : files) {
    paths.push_back(file.path);
    sizes.push_back(file.size);
    contents.push_back(pg::bytea_text(file.text.value_or("")));
    inlined.push_back(file.text.has_value());
    for (std::size_t i = 0; i < file.chunks.size(); ++i) {
      chunk_file.push_back(static_cast<int>(paths.size()));
      chunk_position.push_back(static_cast<int>(i));
    }
  }
  pg::write(db, sql::job_files_remove, pqxx::params{job.text(), name_of(role), paths});
  pqxx::params params{job.text(), owner};
  params.append(attempt);
  params.append(name_of(role));
  params.append(paths);
  params.append(sizes);
  params.append(contents);
  params.append(inlined);
  pg::write(db, sql::job_files_insert, params);
  pg::write(db, sql::job_file_chunks_insert,
            pqxx::params{job.text(), owner, name_of(role), paths, chunk_file, chunk_position,
                         bytea_array(chunks_of(files))});
}

std::optional<PathConflict> find_path_conflict(pg::Connection& db, JobId job, FileRole role) {
  const auto roles = is_the_clients(role) ? std::vector<std::string>{"code", "data"}
                                          : std::vector<std::string>{name_of(role)};
  const auto rows = pg::read(db, sql::job_files_conflict, pqxx::params{job.text(), roles});
  if (rows.empty()) return std::nullopt;
  return PathConflict{rows[0]["path"].as<std::string>(), rows[0]["folder"].as<std::string>()};
}

FileTotals file_totals(pg::Connection& db, JobId job, FileRole role) {
  const auto row =
      pg::read(db, sql::job_files_count, pqxx::params{job.text(), is_the_clients(role)}).one_row();
  return {row["files"].as<std::size_t>(), row["chunks"].as<std::size_t>(),
          row["inline_bytes"].as<std::size_t>()};
}

Result<JobFilePage> list_files(pg::Connection& db, const UserOrAttempt& caller, JobId job, FileRole role,
                               const std::optional<std::string>& from, int page, int rows_a_page) {
  auto params = caller_params(caller, job);
  params.append(name_of(role));
  params.append(page);
  params.append(rows_a_page);
  params.append(from);
  params.append(limits::kPageBytesMax);
  const auto rows = pg::read(db, sql::job_files_list, params);
  if (rows.empty()) return no_valid_token();
  if (rows[0]["stale"].as<bool>()) return stale_attempt();
  if (!rows[0]["may"].as<bool>()) return no_such_job(job);
  JobFilePage listed{{}, std::cmp_greater(rows.size(), rows_a_page)};
  for (const auto& row : rows) {
    if (row["path"].is_null() || std::cmp_equal(listed.files.size(), rows_a_page)) break;
    if (!row["within"].as<bool>()) {
      listed.next = row["path"].as<std::string>();
      listed.more = true;
      break;
    }
    listed.files.push_back(file_of(row));
  }
  return listed;
}

}  // namespace remotist::market
