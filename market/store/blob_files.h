// The bytes of chunks, as compressed files in a folder. A file is named after its chunk and a generation, is
// written once, whole and on disk before anybody hears of it, and never changed. Which of them count is the
// database's to say (blobs.h). Thread-safe; several markets may share the folder.
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

  // Makes the folder's parts if they are not there. Throws std::system_error when it cannot.
  explicit BlobFiles(std::filesystem::path folder);

  // On disk when it returns; throws std::system_error (a full disk), and then there is no such file.
  void write(const BlobFile& file, std::string_view bytes) const;
  // Nothing when there is no such file.
  std::optional<std::string> read(const BlobFile& file) const;
  void remove(const BlobFile& file) const;
  bool exists(const BlobFile& file) const;
  // A damaged file is kept under another name, for whoever wants to know how it happened.
  void set_aside(const BlobFile& file) const;

  // Notes in the folder to which database it belongs, or throws std::runtime_error when it is another's.
  void claim_for(const std::string& store_id) const;

  // The files of one shard (0 … kShards - 1) that have not been touched for so long; deletes what writes that
  // were cut off have left behind.
  std::vector<BlobFile> older_than(std::chrono::seconds age, int shard) const;

 private:
  std::filesystem::path path_of(const BlobFile& file) const;

  std::filesystem::path folder_;
};

}  // namespace remotist::market
