// The bytes of chunks, as compressed files in a folder. A file is named by its chunk and a generation, is
// synced to disc before the database refers to it, and never changes. The database decides which files are in
// use (blobs.h). Thread-safe; several markets may share the folder.
#pragma once

#include <chrono>
#include <compare>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/chunk.h"
#include "core/id.h"

namespace remotist::market {

struct BlobFile {
  ChunkName chunk;
  GenerationId generation;
  auto operator<=>(const BlobFile&) const = default;
};

class BlobFiles {
 public:
  static constexpr int kShards = 256;

  // Creates the shard folders if they are missing. Throws std::system_error when it cannot.
  explicit BlobFiles(std::filesystem::path folder);

  // On disc when it returns; throws std::system_error (a full disc), and then there is no such file.
  void write(const BlobFile& file, std::string_view bytes) const;
  // Nothing when there is no such file.
  std::optional<std::string> read(const BlobFile& file) const;
  void remove(const BlobFile& file) const;
  bool exists(const BlobFile& file) const;
  // Renames a damaged file, so that it can be examined.
  void set_aside(const BlobFile& file) const;

  // Writes the database's id into the folder; throws std::runtime_error when the folder belongs to another
  // database.
  void claim_for(const std::string& store_id) const;

  // The files of one shard (0 … kShards - 1) that have not been touched for so long; also deletes temporary
  // files of interrupted writes.
  std::vector<BlobFile> older_than(std::chrono::seconds age, int shard) const;

 private:
  std::filesystem::path path_of(const BlobFile& file) const;

  std::filesystem::path folder_;
};

}  // namespace remotist::market
