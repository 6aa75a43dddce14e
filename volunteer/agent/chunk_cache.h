// Chunks that were fetched, kept on disk up to a bound so that the next job with the same data need not fetch
// them again. Whatever is read back is checked by its name, so a damaged file is only a miss.
//
// Thread-safe. One process uses a folder at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/chunk.h"

namespace remotist::volunteer {

class ChunkCache {
 public:
  // Makes the folder, or takes over what an earlier agent kept in it. Throws
  // std::filesystem::filesystem_error.
  ChunkCache(std::filesystem::path folder, std::int64_t bytes_max);

  std::optional<std::string> find(const ChunkName& name);
  // Requires that these are the bytes of that name. A full disk, or a chunk that does not fit, is no fault:
  // it is not kept.
  void keep(const ChunkName& name, std::string_view bytes);

  std::int64_t bytes() const;

 private:
  struct Kept {
    std::string hex;
    std::int64_t bytes;
  };
  void forget(std::list<Kept>::iterator kept);
  void make_room(std::int64_t bytes);

  const std::filesystem::path folder_;
  const std::int64_t bytes_max_;
  mutable std::mutex mutex_;
  std::list<Kept> kept_;  // the most recently used first
  std::unordered_map<std::string, std::list<Kept>::iterator> by_name_;
  std::int64_t bytes_ = 0;
};

}  // namespace remotist::volunteer
