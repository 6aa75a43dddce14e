#include "market/service/blobs.h"

#include <stdexcept>

#include "core/limits.h"
#include "core/log.h"
#include "core/zstd.h"
#include "market/service/checkpoint_room.h"
#include "market/store/checkpoints.h"

namespace remotist::market {
namespace {

constexpr std::size_t kBatchMax = 500;

// What is in a frame; nothing for a body that comes plain.
Result<std::optional<std::string>> unpacked(std::string_view body, Encoding encoding) {
  if (encoding == Encoding::plain) return std::optional<std::string>{};
  auto bytes = zstd_decompress(body, limits::kChunkBytesMax);
  if (bytes) return bytes;
  return refuse(Code::malformed_request, "the body must be one zstd frame that states its size, of at most " +
                                             std::to_string(limits::kChunkBytesMax) + " bytes");
}

Result<void> check_bytes(const ChunkName& chunk, std::string_view bytes) {
  if (bytes.size() > limits::kChunkBytesMax) {
    return refuse(Code::too_large, "a chunk has at most " + std::to_string(limits::kChunkBytesMax) +
                                       " bytes, this one has " + std::to_string(bytes.size()));
  }
  const auto found = ChunkName::of(bytes);
  if (found == chunk) return {};
  return refuse(
      Code::invalid_field,
      "the SHA-256 of these bytes is " + found.hex() + ": they were damaged on the way, or named wrongly",
      "sha256");
}

// One that cannot be deleted must not keep the others; it is an orphan then, and tried again.
void delete_files(const BlobFiles& files, const std::vector<BlobFile>& which) {
  for (const auto& file : which) {
    try {
      files.remove(file);
    } catch (const std::exception& fault) {
      log::warn("chunk_not_deleted", {{"what", fault.what()}});
    }
  }
}

}  // namespace

Result<void> keep_chunk(pg::Connection& db, const BlobFiles& files, const UserOrAttempt& caller,
                        const ChunkName& chunk, std::string_view body, Encoding encoding,
                        std::chrono::seconds pin) {
  // Only the caller's own presence makes it short: a stranger's chunk must take as long as a new one, or time
  // would tell who has what.
  const auto present = present_chunks(db, caller, {chunk}, pin);
  if (!present) return present.refusal();
  const auto frame = unpacked(body, encoding);
  if (!frame) return frame.refusal();
  const std::string_view bytes = *frame ? std::string_view{**frame} : body;
  if (auto checked = check_bytes(chunk, bytes); !checked) return checked;
  if (const auto own = present->find(chunk); own != present->end() && files.exists({chunk, own->second}))
    return {};

  const BlobFile file{chunk, GenerationId::make()};
  const std::string stored = zstd_compress(bytes);
  files.write(file, stored);
  // When this throws nobody knows whether it was recorded: the file stays, and is collected if it was not.
  const auto counts = caller.for_checkpoint
                          ? record_checkpoint_chunk(db, caller, file, bytes.size(), stored.size(), pin)
                          : record_chunk(db, caller, file, bytes.size(), stored.size(), pin);
  if (!counts) {
    files.remove(file);
    return counts.refusal();
  }
  if (counts->generation == file.generation) return {};
  if (!files.exists(*counts) && mend_chunk(db, *counts, file, stored.size())) {
    log::warn("chunk_mended", {{"chunk", chunk.hex()}});
  } else {
    files.remove(file);
  }
  return {};
}

Result<std::string> read_chunk(pg::Connection& db, const BlobFiles& files, const UserOrAttempt& caller,
                               JobId job, const ChunkName& chunk, Encoding encoding) {
  auto found = find_chunk(db, caller, job, chunk);
  if (!found) return found.refusal();
  auto frame = files.read(found->file);
  if (!frame) {
    // The job may have been deleted between the two, or the file replaced.
    found = find_chunk(db, caller, job, chunk);
    if (!found) return found.refusal();
    frame = files.read(found->file);
  }
  if (!frame) throw std::runtime_error{"the file of chunk " + chunk.hex() + " is missing"};
  if (encoding == Encoding::zstd) return std::move(*frame);
  auto bytes = zstd_decompress(*frame, limits::kChunkBytesMax);
  if (!bytes || bytes->size() != found->size || ChunkName::of(*bytes) != chunk) {
    files.set_aside(found->file);
    throw std::runtime_error{"the file of chunk " + chunk.hex() + " was damaged and is set aside"};
  }
  return std::move(*bytes);
}

std::size_t collect_presences(pg::Connection& db, std::size_t at_most, std::chrono::seconds look_again) {
  return db.transact([&]() -> std::size_t {
    const auto storages = storages_of_due_presences(db, at_most);
    if (storages.empty()) return 0;
    const auto marked = mark_due_presences(db, storages, at_most);
    if (marked > 0) end_marked_presences(db, look_again);
    return marked;
  });
}

Collected collect_unneeded(pg::Connection& db, std::size_t at_most, std::chrono::seconds look_again) {
  return db.transact([&]() -> Collected {
    const auto marked = mark_due_chunks(db, at_most);
    if (marked == 0) return {};
    return {marked, delete_marked_chunks(db, look_again)};
  });
}

void collect_chunks(pg::Connection& db, const BlobFiles& files, const std::stop_token& stop,
                    std::chrono::seconds look_again) {
  release_checkpoints_of_ended_jobs(db);
  while (!stop.stop_requested() && collect_presences(db, kBatchMax, look_again) == kBatchMax) {
  }
  std::size_t deleted = 0;
  for (bool more = true; more && !stop.stop_requested();) {
    const auto collected = collect_unneeded(db, kBatchMax, look_again);
    delete_files(files, collected.files);
    deleted += collected.files.size();
    more = collected.looked_at == kBatchMax;
  }
  if (deleted > 0) log::info("chunks_collected", {{"chunks", deleted}});
}

void collect_orphans(pg::Connection& db, const BlobFiles& files, int shard, std::chrono::seconds age) {
  const auto old = files.older_than(age, shard);
  for (std::size_t from = 0; from < old.size(); from += kBatchMax) {
    const auto first = old.begin() + static_cast<std::ptrdiff_t>(from);
    const auto count = std::min(kBatchMax, old.size() - from);
    delete_files(files, unknown_files(db, {first, first + static_cast<std::ptrdiff_t>(count)}));
  }
}

}  // namespace remotist::market
