// The files of a job in the database. The client uploads code and data, the machine that runs the job the
// other roles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/chunk.h"
#include "core/job_state.h"
#include "core/pg/connection.h"
#include "market/store/caller.h"

namespace remotist::market {

enum class FileRole { code, data, output, made, log, error };
// Uploaded by the client while the job is uploading; the others by the current attempt.
constexpr bool is_the_clients(FileRole role) {
  return role == FileRole::code || role == FileRole::data;
}

// Its bytes are either in `text` or in chunks, in order.
struct JobFile {
  std::string path;
  std::int64_t size = 0;
  std::optional<std::string> text{};
  std::vector<ChunkName> chunks{};
};

// The functions below, down to file_totals(), run in the caller's transaction and require lock_jobs()
// (core/store/locks.h).

struct FilesCaller {
  std::string storage;  // where its chunks are
  std::string owner;    // the account of the job
  JobState state;
};
// Refuses with unauthenticated, stale_attempt or not_found.
Result<FilesCaller> files_caller(pg::Connection& db, const UserOrAttempt& caller, JobId job);

std::vector<ChunkName> chunks_of(const std::vector<JobFile>& files);

void delete_files_of_earlier_attempts(pg::Connection& db, JobId job, int attempt);

// Stores the files instead of those of the same role and path. With `attempt`, it brings them: requires
// lock_storages() then.
void insert_files(pg::Connection& db, JobId job, const std::string& owner, std::optional<int> attempt,
                  FileRole role, const std::vector<JobFile>& files);

// A file whose path is a folder of another file in the same place.
struct PathConflict {
  std::string file;
  std::string folder;
};
// Among the files that stand in one folder with those of this role: code and data do.
std::optional<PathConflict> find_path_conflict(pg::Connection& db, JobId job, FileRole role);

struct FileTotals {
  std::size_t files;
  std::size_t chunks;
  std::size_t inline_bytes;
};
// Of the client's files, or of those that machines brought.
FileTotals file_totals(pg::Connection& db, JobId job, FileRole role);

struct JobFilePage {
  std::vector<JobFile> files;  // by path
  bool more;
  std::optional<std::string> next{};  // the page ended early: the path with which the next one begins
};
// For the owner; for the current attempt only code and data. `from`: the first path that is listed. A page
// ends after its rows, or earlier when it reaches limits::kPageBytesMax.
Result<JobFilePage> list_files(pg::Connection& db, const UserOrAttempt& caller, JobId job, FileRole role,
                               const std::optional<std::string>& from, int page, int rows);

}  // namespace remotist::market
