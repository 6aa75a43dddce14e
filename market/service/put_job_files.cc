#include "market/service/put_job_files.h"

#include "core/job_state.h"
#include "core/limits.h"
#include "core/store/locks.h"
#include "market/store/chunk_sizes.h"

namespace remotist::market {
namespace {

// One who may bring files of this role.
Result<FilesCaller> bringer_of(pg::Connection& db, const UserOrAttempt& caller, JobId job, FileRole role) {
  auto bringer = files_caller(db, caller, job);
  if (!bringer) return bringer;
  if (is_the_clients(role) == caller.attempt.has_value()) {
    return refuse(Code::forbidden, is_the_clients(role)
                                       ? "code and data are the client's to send, not a machine's"
                                       : "this is for the machine that runs the job to send");
  }
  if (is_the_clients(role) && bringer->state != JobState::uploading) {
    return refuse(Code::wrong_state, "the job is " + std::string{name_of(bringer->state)} +
                                         ": its files can no longer be changed");
  }
  return bringer;
}

Result<void> check_file_chunks(pg::Connection& db, const std::string& storage,
                               const std::vector<JobFile>& files) {
  const auto sizes = chunk_sizes(db, storage, chunks_of(files));
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

// What code and data are to a machine, one folder, is what a script made to its owner.
Result<void> check_folder(pg::Connection& db, JobId job, FileRole role) {
  if (!is_the_clients(role) && role != FileRole::made) return {};
  const auto conflict = find_path_conflict(db, job, role);
  if (!conflict) return {};
  return refuse(Code::invalid_field,
                "path " + conflict->file + " and path " + conflict->folder +
                    ": one of the two would be both a file and a folder",
                "path");
}

Result<void> check_total(std::size_t total, std::size_t most, const char* what) {
  if (total <= most) return {};
  return refuse(Code::too_large, "a job has at most " + std::to_string(most) + " " + what);
}

Result<void> check_totals(const FileTotals& totals) {
  if (auto r = check_total(totals.files, limits::kJobFilesMax, "files"); !r) return r;
  if (auto r = check_total(totals.chunks, limits::kJobChunksMax, "chunks"); !r) return r;
  return check_total(totals.inline_bytes, limits::kJobInlineBytesMax,
                     "bytes in files that come inline: upload the larger ones as chunks");
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
      if (auto checked = check_file_chunks(db, bringer->storage, files); !checked) return checked;
      const auto attempt = caller.attempt ? std::optional{caller.attempt->number} : std::nullopt;
      if (attempt) {
        store::lock_storages(db, {job});
        delete_files_of_earlier_attempts(db, job, *attempt);
        name_chunks(db, bringer->storage, chunks_of(files));
      }
      insert_files(db, job, bringer->owner, attempt, role, files);
      if (auto checked = check_folder(db, job, role); !checked) return checked;
      return check_totals(file_totals(db, job, role));
    });
  } catch (const pg::ConstraintViolated& violated) {
    if (auto refusal = quota_refusal(violated.constraint())) return *refusal;
    throw;
  }
}

}  // namespace remotist::market
