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
      fs::remove_all(entry.path());  // half written when the agent was killed
    }
  }
  std::ranges::sort(found, std::greater{}, [](const auto& entry) { return entry.last_write_time(); });
  for (const auto& entry : found) {
    const auto bytes = static_cast<std::int64_t>(entry.file_size());
    kept_.push_back({entry.path().filename().string(), bytes});
    by_name_[kept_.back().hex] = std::prev(kept_.end());
    bytes_ += bytes;
  }
  make_room(0);
}

std::optional<std::string> ChunkCache::find(const ChunkName& name) {
  {
    const std::lock_guard lock{mutex_};
    const auto known = by_name_.find(name.hex());
    if (known == by_name_.end()) return std::nullopt;
    kept_.splice(kept_.begin(), kept_, known->second);
  }
  std::ifstream file{folder_ / name.hex(), std::ios::binary};
  std::string bytes{std::istreambuf_iterator<char>{file}, {}};
  if (ChunkName::of(bytes) == name) return bytes;
  const std::lock_guard lock{mutex_};
  const auto known = by_name_.find(name.hex());
  if (known != by_name_.end()) forget(known->second);
  return std::nullopt;
}

void ChunkCache::keep(const ChunkName& name, std::string_view bytes) {
  const auto size = static_cast<std::int64_t>(bytes.size());
  const std::lock_guard lock{mutex_};
  if (size > bytes_max_ || by_name_.contains(name.hex())) return;
  make_room(size);
  const auto half = folder_ / (name.hex() + ".half");
  {
    std::ofstream file{half, std::ios::binary | std::ios::trunc};
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    std::error_code gone;
    if (!file) fs::remove(half, gone);
    if (!file) return;
  }
  std::error_code fault;
  fs::rename(half, folder_ / name.hex(), fault);
  if (fault) return;
  kept_.push_front({name.hex(), size});
  by_name_[name.hex()] = kept_.begin();
  bytes_ += size;
}

void ChunkCache::forget(std::list<Kept>::iterator kept) {
  std::error_code ignored;
  fs::remove(folder_ / kept->hex, ignored);
  bytes_ -= kept->bytes;
  by_name_.erase(kept->hex);
  kept_.erase(kept);
}

void ChunkCache::make_room(std::int64_t bytes) {
  while (!kept_.empty() && bytes_ + bytes > bytes_max_) forget(std::prev(kept_.end()));
}

std::int64_t ChunkCache::bytes() const {
  const std::lock_guard lock{mutex_};
  return bytes_;
}

}  // namespace remotist::volunteer
