#include "volunteer/agent/chunk_cache.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

namespace remotist::volunteer {
namespace fs = std::filesystem;

ChunkCache::ChunkCache(fs::path folder, std::int64_t bytes_max)
    : folder_(std::move(folder)), bytes_max_(bytes_max) {
  fs::create_directories(folder_);
  std::vector<fs::directory_entry> found;
  for (const auto& entry : fs::directory_iterator{folder_}) {
    if (entry.is_regular_file() && ChunkName::parse(entry.path().filename().string())) {
      found.push_back(entry);
    } else {
      fs::remove_all(entry.path());  // incomplete: the agent was killed
    }
  }
  std::ranges::sort(found, std::greater{}, [](const auto& entry) { return entry.last_write_time(); });
  for (const auto& entry : found) {
    const auto bytes = static_cast<std::int64_t>(entry.file_size());
    entries_.push_back({entry.path().filename().string(), bytes});
    by_name_[entries_.back().hex] = std::prev(entries_.end());
    bytes_ += bytes;
  }
  make_room(0);
}

std::optional<std::string> ChunkCache::find(const ChunkName& name) {
  {
    const std::lock_guard lock{mutex_};
    const auto known = by_name_.find(name.hex());
    if (known == by_name_.end()) return std::nullopt;
    entries_.splice(entries_.begin(), entries_, known->second);
  }
  std::ifstream file{folder_ / name.hex(), std::ios::binary};
  std::string bytes{std::istreambuf_iterator<char>{file}, {}};
  if (ChunkName::of(bytes) == name) return bytes;
  const std::lock_guard lock{mutex_};
  const auto known = by_name_.find(name.hex());
  if (known != by_name_.end()) evict(known->second);
  return std::nullopt;
}

void ChunkCache::store(const ChunkName& name, std::string_view bytes) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  const std::lock_guard lock{mutex_};
  if (size > bytes_max_ || by_name_.contains(name.hex())) return;
  make_room(size);
  const auto partial = folder_ / (name.hex() + ".part");
  {
    std::ofstream file{partial, std::ios::binary | std::ios::trunc};
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    std::error_code gone;
    if (!file) fs::remove(partial, gone);
    if (!file) return;
  }
  std::error_code fault;
  fs::rename(partial, folder_ / name.hex(), fault);
  if (fault) return;
  entries_.push_front({name.hex(), size});
  by_name_[name.hex()] = entries_.begin();
  bytes_ += size;
}

void ChunkCache::evict(std::list<Entry>::iterator entry) {
  std::error_code ignored;
  fs::remove(folder_ / entry->hex, ignored);
  bytes_ -= entry->bytes;
  by_name_.erase(entry->hex);
  entries_.erase(entry);
}

void ChunkCache::make_room(std::int64_t bytes) {
  while (!entries_.empty() && bytes_ + bytes > bytes_max_) evict(std::prev(entries_.end()));
}

std::int64_t ChunkCache::bytes() const {
  const std::lock_guard lock{mutex_};
  return bytes_;
}

}  // namespace remotist::volunteer
