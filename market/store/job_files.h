// The files of a job. A client brings code and data; the machine that runs it brings the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/chunk.h"
#include "core/pg/session.h"
#include "market/store/caller.h"

namespace remotist::market {

enum class FileRole { code, data, output, made, log, error };
// Brought by the client while the job is uploading; else by the current attempt.
constexpr bool is_the_clients(FileRole role) {
  return role == FileRole::code || role == FileRole::data;
}

// Its bytes are either here or in chunks, in order.
struct JobFile {
  std::string path;
  std::int64_t size = 0;
  std::optional<std::string> text{};
  std::vector<ChunkName> chunks{};
};

// Whether the caller may bring files of this role now; refuses as put_files does.
Result<void> check_may_bring(pg::Session& db, const UserOrAttempt& caller, JobId job, FileRole role);

// All of them or none; a file that is there already under its path is replaced. Refuses with unauthenticated,
// stale_attempt, not_found, forbidden (a role that is not this caller's to bring), wrong_state,
// chunks_missing, invalid_field (a size that is not its chunks'), too_large (limits::kJob…Max).
Result<void> put_files(pg::Session& db, const UserOrAttempt& caller, JobId job, FileRole role,
                       const std::vector<JobFile>& files);

struct JobFilePage {
  std::vector<JobFile> files;  // by path
  bool more;
};
// For the owner, and for the current attempt what it needs to run.
Result<JobFilePage> list_files(pg::Session& db, const UserOrAttempt& caller, JobId job, FileRole role,
                               int page, int rows);

}  // namespace remotist::market
