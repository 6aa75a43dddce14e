// The files of a job. The client uploads code and data, the machine that runs the job the other roles.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/chunk.h"
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

// Whether the caller may upload files of this role now; refuses as put_files does.
Result<void> check_may_bring(pg::Connection& db, const UserOrAttempt& caller, JobId job, FileRole role);

// Stores all files or none; replaces files of the same path. Refuses with unauthenticated, stale_attempt,
// not_found, forbidden (a role that this caller may not upload), wrong_state, chunks_missing, invalid_field
// (a size that is not its chunks'), too_large (limits::kJob…Max).
Result<void> put_files(pg::Connection& db, const UserOrAttempt& caller, JobId job, FileRole role,
                       const std::vector<JobFile>& files);

struct JobFilePage {
  std::vector<JobFile> files;  // by path
  bool more;
};
// For the owner; for the current attempt only code and data.
Result<JobFilePage> list_files(pg::Connection& db, const UserOrAttempt& caller, JobId job, FileRole role,
                               int page, int rows);

}  // namespace remotist::market
