// A cache of fetched chunks on disc, limited in bytes; the least recently used is evicted. A chunk is checked
// against its name when it is read, so a damaged file is only a miss.
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
  // Makes the folder, or reuses the chunks that an earlier agent stored in it. Throws
  // std::filesystem::filesystem_error.
  ChunkCache(std::filesystem::path folder, std::int64_t bytes_max);

  std::optional<std::string> find(const ChunkName& name);
  // Requires that these are the bytes of that name. Does nothing when the disc is full or the chunk does not
  // fit.
  void store(const ChunkName& name, std::string_view bytes);

  std::int64_t bytes() const;

 private:
  struct Entry {
    std::string hex;
    std::int64_t bytes;
  };
  void evict(std::list<Entry>::iterator entry);
  void make_room(std::int64_t bytes);

  const std::filesystem::path folder_;
  const std::int64_t bytes_max_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  // the most recently used first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_name_;
  std::int64_t bytes_ = 0;
};

}  // namespace remotist::volunteer
