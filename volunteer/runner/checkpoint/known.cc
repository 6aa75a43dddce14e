#include "volunteer/runner/checkpoint/known.h"

#include <cstring>
#include <limits>
#include <sys/random.h>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <xxhash.h>

#include "core/limits.h"
#include "volunteer/runner/write_all.h"

namespace remotist::volunteer::checkpoint {

namespace {

constexpr std::uint64_t kCompleteTable = 0x7461626c65203120;
constexpr std::uint64_t kTableBytesMax = 256 << 20;

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, GRND_NONBLOCK) != sizeof seed) seed = 0x9E3779B97F4A7C15ULL;
  return seed;
}

template <class Plain>
void put_plain(std::string& out, const Plain& value) {
  static_assert(std::is_trivially_copyable_v<Plain>);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class Plain>
bool take_plain(std::string_view& in, Plain& value) {
  if (in.size() < sizeof value) return false;
  std::memcpy(&value, in.data(), sizeof value);
  in.remove_prefix(sizeof value);
  return true;
}

template <class Plain>
void put_all(std::string& out, const std::vector<Plain>& values) {
  put_plain(out, std::uint64_t{values.size()});
  if (!values.empty())
    out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Plain));
}

template <class Plain>
bool take_all(std::string_view& in, std::vector<Plain>& values) {
  std::uint64_t count = 0;
  if (!take_plain(in, count) || count > in.size() / sizeof(Plain)) return false;
  values.resize(count);
  if (count > 0) std::memcpy(values.data(), in.data(), count * sizeof(Plain));
  in.remove_prefix(count * sizeof(Plain));
  return true;
}

bool same_time(const timespec& one, const timespec& other) {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

bool fits(const CheckpointTable& table) {
  for (const auto& run : table.runs) {
    if (run.first > table.chunks.size() || run.chunks > table.chunks.size() - run.first) return false;
  }
  for (const auto& file : table.files) {
    if (file.version.size < 0) return false;
    const auto size = static_cast<std::uint64_t>(file.version.size);
    if (size == 0) continue;
    if (file.run >= table.runs.size() || file.offset > table.runs[file.run].length ||
        size > table.runs[file.run].length - file.offset)
      return false;
  }
  return true;
}

}  // namespace

FastHash fast_hash(std::string_view contents) {
  // The same in the children, which are forked later.
  static const std::uint64_t seed = random_seed();
  const auto hash = XXH3_128bits_withSeed(contents.data(), contents.size(), seed);
  return {hash.low64, hash.high64};
}

bool FileVersion::operator==(const FileVersion& other) const {
  return device == other.device && inode == other.inode && size == other.size &&
         same_time(modified, other.modified) && same_time(changed, other.changed);
}

FileVersion version_of(const struct stat& state) {
  return {state.st_dev, state.st_ino, state.st_size, state.st_mtim, state.st_ctim};
}

bool write_table(int to, const CheckpointTable& table) {
  std::string bytes;
  put_all(bytes, table.chunks);
  put_all(bytes, table.runs);
  put_plain(bytes, std::uint64_t{table.files.size()});
  for (const auto& file : table.files) {
    put_plain(bytes, std::uint64_t{file.path.size()});
    bytes += file.path;
    put_plain(bytes, file.version);
    put_plain(bytes, file.settled);
    put_plain(bytes, file.run);
    put_plain(bytes, file.offset);
  }
  put_plain(bytes, kCompleteTable);
  return write_all(to, bytes);
}

std::optional<CheckpointTable> read_table(int from) {
  struct stat state{};
  if (::fstat(from, &state) != 0 || state.st_size < 0 ||
      static_cast<std::uint64_t>(state.st_size) > kTableBytesMax)
    return std::nullopt;
  std::string bytes(static_cast<std::size_t>(state.st_size), '\0');
  if (::pread(from, bytes.data(), bytes.size(), 0) != state.st_size) return std::nullopt;
  std::string_view in = bytes;
  CheckpointTable table;
  std::uint64_t files = 0;
  if (!take_all(in, table.chunks) || !take_all(in, table.runs) || !take_plain(in, files)) return std::nullopt;
  for (std::uint64_t i = 0; i < files; ++i) {
    KnownFile file;
    std::uint64_t length = 0;
    if (!take_plain(in, length) || length > in.size()) return std::nullopt;
    file.path = in.substr(0, length);
    in.remove_prefix(length);
    if (!take_plain(in, file.version) || !take_plain(in, file.settled) || !take_plain(in, file.run) ||
        !take_plain(in, file.offset))
      return std::nullopt;
    table.files.push_back(std::move(file));
  }
  std::uint64_t complete = 0;
  if (!take_plain(in, complete) || complete != kCompleteTable || !in.empty() || !fits(table))
    return std::nullopt;
  return table;
}

void KnownCheckpoints::add(std::uint64_t number, Descriptor table) {
  unconfirmed_.push_back({number, std::move(table)});
  if (unconfirmed_.size() > kUnconfirmedMax) unconfirmed_.pop_front();
}

void KnownCheckpoints::update() {
  if (forget_.exchange(false)) {
    base_.reset();
    unconfirmed_.clear();
    chunk_at_.clear();
    file_at_.clear();
  }
  const std::uint64_t number = confirmed_.exchange(0);
  while (!unconfirmed_.empty() && unconfirmed_.front().number <= number) {
    if (unconfirmed_.front().number == number) {
      if (auto table = read_table(unconfirmed_.front().table.get())) {
        base_ = std::move(table);
        chunk_at_.clear();
        file_at_.clear();
        for (std::size_t i = 0; i < base_->chunks.size(); ++i) chunk_at_[base_->chunks[i].hash.low] = i;
        for (std::size_t i = 0; i < base_->files.size(); ++i) file_at_[base_->files[i].path] = i;
      }
    }
    unconfirmed_.pop_front();
  }
}

const KnownFile* KnownCheckpoints::find_file(const std::string& path) const {
  const auto found = file_at_.find(path);
  return found == file_at_.end() ? nullptr : &base_->files[found->second];
}

const KnownChunk* KnownCheckpoints::find_chunk(const FastHash& hash, std::size_t length) const {
  const auto found = chunk_at_.find(hash.low);
  if (found == chunk_at_.end()) return nullptr;
  const auto& chunk = base_->chunks[found->second];
  return chunk.hash == hash && chunk.length == length ? &chunk : nullptr;
}

}  // namespace remotist::volunteer::checkpoint
