#include "market/store/job_files.h"

#include <utility>

#include "core/job_state.h"
#include "core/limits.h"
#include "core/pg/arrays.h"
#include "core/store/locks.h"
#include "market/store/caller_params.h"
#include "market/store/chunk_sizes.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

constexpr const char* kRoleNames[] = {"code", "data", "output", "made", "log", "error"};

const char* name_of(FileRole role) {
  return kRoleNames[static_cast<std::size_t>(role)];
}

// One who may bring files of a role.
struct Bringer {
  std::string storage;  // where its chunks are
  std::string owner;    // whose job it is
};
Result<Bringer> bringer_of(pg::Connection& db, const UserOrAttempt& caller, JobId job, FileRole role) {
  const auto rows = pg::read(db, sql::job_files_caller, caller_params(caller, job));
  if (rows.empty()) return no_valid_token();
  if (rows[0]["stale"].as<bool>()) return stale_attempt();
  if (!rows[0]["may"].as<bool>()) return no_such_job(job);
  if (is_the_clients(role) == caller.attempt.has_value()) {
    return refuse(Code::forbidden, is_the_clients(role)
                                       ? "code and data are the client's to send, not a machine's"
                                       : "this is for the machine that runs the job to send");
  }
  const auto state = job_state_named(rows[0]["state"].view()).value();
  if (is_the_clients(role) && state != JobState::uploading) {
    return refuse(Code::wrong_state, "the job is " + std::string{remotist::name_of(state)} +
                                         ": its files can no longer be changed");
  }
  return Bringer{rows[0]["storage_id"].as<std::string>(), rows[0]["account_id"].as<std::string>()};
}

std::vector<ChunkName> all_chunks(const std::vector<JobFile>& files) {
  std::vector<ChunkName> chunks;
  for (const auto& file : files) chunks.insert(chunks.end(), file.chunks.begin(), file.chunks.end());
  return chunks;
}

Result<void> check_chunks(pg::Connection& db, const std::string& storage, const std::vector<JobFile>& files) {
  const auto sizes = chunk_sizes(db, storage, all_chunks(files));
  for (const auto& file : files) {
    if (file.text) continue;
    std::int64_t size = 0;
    for (const auto& chunk : file.chunks) {
      const auto found = sizes.find(chunk.hex());
      if (found == sizes.end()) {
        return refuse(Code::chunks_missing,
                      "chunk " + chunk.hex() + " of " + file.path + " has not been uploaded by you",
                      "chunks");
      }
      size += found->second;
    }
    if (size != file.size) {
      return refuse(Code::invalid_field,
                    "size of " + file.path + " is " + std::to_string(file.size) + ", its chunks have " +
                        std::to_string(size) + " bytes",
                    "size");
    }
  }
  return {};
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
                         bytea_array(all_chunks(files))});
}

// What code and data are to a machine, one folder, is what a script made to its owner.
Result<void> check_folder(pg::Connection& db, JobId job, FileRole role) {
  if (!is_the_clients(role) && role != FileRole::made) return {};
  const auto roles =
      is_the_clients(role) ? std::vector<std::string>{"code", "data"} : std::vector<std::string>{"made"};
  const auto rows = pg::read(db, sql::job_files_conflict, pqxx::params{job.text(), roles});
  if (rows.empty()) return {};
  return refuse(Code::invalid_field,
                "path " + rows[0]["path"].as<std::string>() + " and path " +
                    rows[0]["folder"].as<std::string>() +
                    ": one of the two would be both a file and a folder",
                "path");
}

Result<void> check_totals(pg::Connection& db, JobId job, FileRole role) {
  const auto row =
      pg::read(db, sql::job_files_count, pqxx::params{job.text(), is_the_clients(role)}).one_row();
  const auto check = [&](const char* column, std::size_t most, const char* what) -> Result<void> {
    if (row[column].as<std::size_t>() <= most) return {};
    return refuse(Code::too_large, "a job has at most " + std::to_string(most) + " " + what);
  };
  if (auto r = check("files", limits::kJobFilesMax, "files"); !r) return r;
  if (auto r = check("chunks", limits::kJobChunksMax, "chunks"); !r) return r;
  return check("inline_bytes", limits::kJobInlineBytesMax,
               "bytes in files that come inline: upload the larger ones as chunks");
}

JobFile file_of(const pqxx::row& row) {
  JobFile file{row["path"].as<std::string>(), row["size_bytes"].as<std::int64_t>()};
  if (!row["inline_bytes"].is_null()) file.text = pg::text_of(row["inline_bytes"]);
  for (const auto& chunk : pg::texts_of(row["chunks"]))
    file.chunks.push_back(ChunkName::parse(chunk).value());
  return file;
}

}  // namespace

Result<void> check_may_bring(pg::Connection& db, const UserOrAttempt& caller, JobId job, FileRole role) {
  const auto bringer = bringer_of(db, caller, job, role);
  if (!bringer) return bringer.refusal();
  return {};
}

Result<void> put_files(pg::Connection& db, const UserOrAttempt& caller, JobId job, FileRole role,
                       const std::vector<JobFile>& files) {
  try {
    return db.transact([&]() -> Result<void> {
      store::lock_jobs(db, {job});
      const auto bringer = bringer_of(db, caller, job, role);
      if (!bringer) return bringer.refusal();
      if (auto checked = check_chunks(db, bringer->storage, files); !checked) return checked;
      const auto attempt = caller.attempt ? std::optional{caller.attempt->number} : std::nullopt;
      if (attempt) {
        store::lock_storages(db, {job});
        pg::write(db, sql::job_files_of_earlier_attempts_remove, pqxx::params{job.text(), *attempt});
        name_chunks(db, bringer->storage, all_chunks(files));
      }
      insert_files(db, job, bringer->owner, attempt, role, files);
      if (auto checked = check_folder(db, job, role); !checked) return checked;
      return check_totals(db, job, role);
    });
  } catch (const pg::ConstraintViolated& violated) {
    if (auto refusal = quota_refusal(violated.constraint())) return *refusal;
    throw;
  }
}

Result<JobFilePage> list_files(pg::Connection& db, const UserOrAttempt& caller, JobId job, FileRole role,
                               int page, int rows_a_page) {
  auto params = caller_params(caller, job);
  params.append(name_of(role));
  params.append(page);
  params.append(rows_a_page);
  const auto rows = pg::read(db, sql::job_files_list, params);
  if (rows.empty()) return no_valid_token();
  if (rows[0]["stale"].as<bool>()) return stale_attempt();
  if (!rows[0]["may"].as<bool>()) return no_such_job(job);
  JobFilePage listed{{}, std::cmp_greater(rows.size(), rows_a_page)};
  for (const auto& row : rows) {
    if (row["path"].is_null() || std::cmp_equal(listed.files.size(), rows_a_page)) break;
    listed.files.push_back(file_of(row));
  }
  return listed;
}

}  // namespace remotist::market
