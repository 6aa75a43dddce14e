#include "market/store/blobs.h"

#include <algorithm>
#include <set>

#include "market/store/caller_params.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

// What every statement with a caller answers first.
std::optional<Refusal> caller_refusal_in(const pqxx::result& rows) {
  if (rows.empty()) return no_valid_token();
  if (rows[0]["stale"].as<bool>()) return stale_attempt();
  return std::nullopt;
}

ChunkName chunk_of(const pqxx::row& row) {
  return ChunkName::parse(row["sha256"].view()).value();
}
GenerationId generation_of(const pqxx::row& row) {
  return GenerationId::parse(row["generation"].view()).value();
}

}  // namespace

Result<std::map<ChunkName, GenerationId>> present_chunks(pg::Connection& db, const UserOrAttempt& caller,
                                                         const std::vector<ChunkName>& asked,
                                                         std::chrono::seconds pin) {
  auto params = caller_params(caller);
  params.append(caller.for_checkpoint);
  params.append(bytea_array(asked));
  params.append(pin.count());
  const auto rows = pg::write(db, sql::blob_present, params);
  if (auto refusal = caller_refusal_in(rows)) return *refusal;
  std::map<ChunkName, GenerationId> present;
  for (const auto& row : rows) {
    if (!row["sha256"].is_null()) present.emplace(chunk_of(row), generation_of(row));
  }
  return present;
}

Result<BlobFile> record_chunk(pg::Connection& db, const UserOrAttempt& caller, const BlobFile& file,
                              std::size_t size, std::size_t stored_size, std::chrono::seconds pin) {
  auto params = caller_params(caller);
  params.append(caller.for_checkpoint);
  params.append("\\x" + file.chunk.hex());
  params.append(size);
  params.append(stored_size);
  params.append(file.generation.text());
  params.append(pin.count());
  try {
    const auto rows = pg::write(db, sql::blob_store, params);
    if (auto refusal = caller_refusal_in(rows)) return *refusal;
    // Its job has ended since its checkpoints got a storage.
    if (rows[0]["generation"].is_null()) return stale_attempt();
    return BlobFile{file.chunk, generation_of(rows[0])};
  } catch (const pg::ConstraintViolated& violated) {
    if (auto refusal = quota_refusal(violated.constraint())) return *refusal;
    throw;
  }
}

bool mend_chunk(pg::Connection& db, const BlobFile& lost, const BlobFile& file, std::size_t stored_size) {
  const pqxx::params params{"\\x" + file.chunk.hex(), lost.generation.text(), file.generation.text(),
                            stored_size};
  return !pg::write(db, sql::blob_mend, params).empty();
}

std::string blob_store_id(pg::Connection& db) {
  return pg::read(db, sql::blob_store_id).one_field().as<std::string>();
}

Result<ReadableChunk> find_chunk(pg::Connection& db, const UserOrAttempt& caller, JobId job,
                                 const ChunkName& chunk) {
  auto params = caller_params(caller, job);
  params.append("\\x" + chunk.hex());
  const auto rows = pg::read(db, sql::blob_read, params);
  if (auto refusal = caller_refusal_in(rows)) return *refusal;
  if (rows[0]["generation"].is_null()) {
    return refuse(Code::not_found, "no job of yours with this id refers to this chunk");
  }
  return ReadableChunk{{chunk, generation_of(rows[0])}, rows[0]["size_bytes"].as<std::size_t>()};
}

std::vector<std::string> storages_of_due_presences(pg::Connection& db, std::size_t at_most) {
  std::vector<std::string> storages;
  for (const auto& row : pg::read(db, sql::blob_presence_due, pqxx::params{at_most}))
    storages.push_back(row["storage_id"].as<std::string>());
  return storages;
}

std::size_t mark_due_presences(pg::Connection& db, const std::vector<std::string>& storages,
                               std::size_t at_most) {
  pg::write(db, sql::storages_lock, pqxx::params{storages});
  return static_cast<std::size_t>(
      pg::write(db, sql::blob_presence_mark, pqxx::params{storages, at_most}).size());
}

void end_marked_presences(pg::Connection& db, std::chrono::seconds look_again) {
  pg::write(db, sql::blob_presence_collect, pqxx::params{look_again.count()});
}

std::size_t mark_due_chunks(pg::Connection& db, std::size_t at_most) {
  return static_cast<std::size_t>(pg::write(db, sql::blob_mark, pqxx::params{at_most}).size());
}

std::vector<BlobFile> delete_marked_chunks(pg::Connection& db, std::chrono::seconds look_again) {
  std::vector<BlobFile> files;
  for (const auto& row : pg::write(db, sql::blob_collect, pqxx::params{look_again.count()}))
    files.push_back({chunk_of(row), generation_of(row)});
  return files;
}

std::vector<BlobFile> unknown_files(pg::Connection& db, const std::vector<BlobFile>& files) {
  std::vector<ChunkName> chunks;
  std::vector<std::string> generations;
  for (const auto& file : files) {
    chunks.push_back(file.chunk);
    generations.push_back(file.generation.text());
  }
  std::set<BlobFile> known;
  for (const auto& row : pg::read(db, sql::blob_known, pqxx::params{bytea_array(chunks), generations})) {
    known.insert({chunk_of(row), generation_of(row)});
  }
  std::vector<BlobFile> unknown;
  std::ranges::copy_if(files, std::back_inserter(unknown),
                       [&](const auto& file) { return !known.contains(file); });
  return unknown;
}

}  // namespace remotist::market
