#include "market/service/blobs.h"

#include <stdexcept>

#include "core/limits.h"
#include "core/log.h"
#include "core/zstd.h"

namespace remotist::market {
namespace {

constexpr std::size_t kBatchMax = 500;

struct Upload {
  std::string frame;  // as it will be stored
  std::size_t size;   // of the bytes themselves
};

Refusal too_large(std::size_t size) {
  return refuse(Code::too_large, "a chunk has at most " + std::to_string(limits::kChunkBytesMax) +
                                     " bytes, this one has " + std::to_string(size));
}

Result<Upload> check_upload(const ChunkName& chunk, std::string_view body, Encoding encoding) {
  std::optional<std::string> unpacked;
  if (encoding == Encoding::zstd) {
    unpacked = zstd_decompress(body, limits::kChunkBytesMax);
    if (!unpacked) {
      return refuse(Code::malformed_request,
                    "the body must be one zstd frame that states its size, of at most " +
                        std::to_string(limits::kChunkBytesMax) + " bytes");
    }
  }
  const std::string_view bytes = unpacked ? std::string_view{*unpacked} : body;
  if (bytes.size() > limits::kChunkBytesMax) return too_large(bytes.size());
  if (const auto found = ChunkName::of(bytes); found != chunk) {
    return refuse(
        Code::invalid_field,
        "the SHA-256 of these bytes is " + found.hex() + ": they were damaged on the way, or named wrongly",
        "sha256");
  }
  return Upload{unpacked ? std::string{body} : zstd_compress(bytes), bytes.size()};
}

void delete_files(const BlobFiles& files, const std::vector<BlobFile>& which) {
  for (const auto& file : which) files.remove(file);
}

void collect_orphans(pg::Session& db, const BlobFiles& files, std::chrono::seconds age) {
  for (int shard = 0; shard < BlobFiles::kShards; ++shard) {
    const auto old = files.older_than(age, shard);
    for (std::size_t from = 0; from < old.size(); from += kBatchMax) {
      const auto first = old.begin() + static_cast<std::ptrdiff_t>(from);
      const auto count = std::min(kBatchMax, old.size() - from);
      delete_files(files, unknown_files(db, {first, first + static_cast<std::ptrdiff_t>(count)}));
    }
  }
}

}  // namespace

Result<void> keep_chunk(pg::Session& db, const BlobFiles& files, const UserOrAttempt& caller,
                        const ChunkName& chunk, std::string_view body, Encoding encoding,
                        std::chrono::seconds pin) {
  // Only the caller's own presence makes it short: a stranger's chunk must take as long as a new one, or time
  // would tell who has what.
  const auto present = present_chunks(db, caller, {chunk}, pin);
  if (!present) return present.refusal();
  auto upload = check_upload(chunk, body, encoding);
  if (!upload) return upload.refusal();
  if (present->contains(chunk)) return {};
  const BlobFile file{chunk, GenerationId::make()};
  files.write(file, upload->frame);
  // When this throws nobody knows whether it was recorded: the file stays, and is collected if it was not.
  const auto counts = record_chunk(db, caller, file, upload->size, upload->frame.size(), pin);
  if (!counts || counts->generation != file.generation) files.remove(file);
  if (!counts) return counts.refusal();
  return {};
}

Result<std::string> read_chunk(pg::Session& db, const BlobFiles& files, const UserOrAttempt& caller,
                               JobId job, const ChunkName& chunk, Encoding encoding) {
  const auto found = find_chunk(db, caller, job, chunk);
  if (!found) return found.refusal();
  auto frame = files.read(found->file);
  if (!frame) throw std::runtime_error{"the file of chunk " + chunk.hex() + " is missing"};
  if (encoding == Encoding::zstd) return std::move(*frame);
  auto bytes = zstd_decompress(*frame, limits::kChunkBytesMax);
  if (!bytes || bytes->size() != found->size || ChunkName::of(*bytes) != chunk) {
    throw std::runtime_error{"the file of chunk " + chunk.hex() + " is damaged"};
  }
  return std::move(*bytes);
}

void collect_blobs(pg::Session& db, const BlobFiles& files, CollectionTimes times) {
  while (collect_presences(db, kBatchMax, times.look_again) == kBatchMax) {
  }
  std::size_t deleted = 0;
  for (bool more = true; more;) {
    const auto collected = collect_chunks(db, kBatchMax, times.look_again);
    delete_files(files, collected.files);
    deleted += collected.files.size();
    more = collected.looked_at == kBatchMax;
  }
  if (deleted > 0) log::info("chunks_collected", {{"chunks", deleted}});
  collect_orphans(db, files, times.orphan_age);
}

}  // namespace remotist::market
