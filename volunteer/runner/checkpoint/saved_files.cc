#include "volunteer/runner/checkpoint/saved_files.h"

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <map>
#include <span>
#include <sys/stat.h>
#include <unistd.h>

namespace remotist::volunteer::checkpoint {

namespace {

constexpr std::uint64_t kInMemoryMax = 4 << 20;
// More than a tick of the kernel's slowest clock (CONFIG_HZ=100); some file systems have whole seconds.
constexpr std::int64_t kTickNs = 20'000'000;
constexpr std::int64_t kSecondNs = 1'000'000'000;

bool copy_all(int from, int to, std::uint64_t length) {
  std::array<char, 1 << 16> buffer{};
  while (length > 0) {
    ssize_t got = ::copy_file_range(from, nullptr, to, nullptr, length, 0);
    if (got < 0) {
      got = ::read(from, buffer.data(), std::min<std::uint64_t>(buffer.size(), length));
      if (got <= 0 || ::write(to, buffer.data(), static_cast<std::size_t>(got)) != got) return false;
    }
    if (got == 0) return false;
    length -= static_cast<std::uint64_t>(got);
  }
  return true;
}

bool has_no_writer(int file) {
  if (::fcntl(file, F_SETLEASE, F_RDLCK) != 0) return false;
  ::fcntl(file, F_SETLEASE, F_UNLCK);
  return true;
}

bool is_older(const timespec& changed, const timespec& began) {
  const auto tick = changed.tv_nsec == 0 ? kSecondNs + kTickNs : kTickNs;
  const auto seconds = began.tv_sec - changed.tv_sec;
  if (seconds > 2 || seconds < 0) return seconds > 0;
  return seconds * kSecondNs + began.tv_nsec - changed.tv_nsec > tick;
}

Descriptor open_for_reading(const std::string& path) {
  // O_NONBLOCK: opening a pipe would block forever.
  return Descriptor{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
}

}  // namespace

std::string SavedFiles::take(const std::vector<std::pair<std::string, std::string>>& files,
                             const Options& options, const KnownCheckpoints& known) {
  release();
  ::clock_gettime(CLOCK_REALTIME_COARSE, &began_);
  struct stat folder{};
  device_ = ::stat(options.folder.c_str(), &folder) == 0 ? folder.st_dev : 0;
  for (const auto& [path, name] : files) {
    files_.push_back({.known = {.path = name}});
    if (!look(path, files_.back(), options, known)) return path;
  }
  drop_sparse_runs(known);
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!files_[i].unchanged && !read(files[i].first, files_[i], options)) return files[i].first;
  }
  return {};
}

void SavedFiles::release() {
  for (const auto& one : files_) {
    if (one.copy >= 0) ::close(one.copy);
  }
  files_.clear();
}

std::size_t SavedFiles::read_count() const {
  return static_cast<std::size_t>(std::ranges::count(files_, false, &File::unchanged));
}

// Whether it is a regular file; finds out whether it has changed.
bool SavedFiles::look(const std::string& path, File& file, const Options& options,
                      const KnownCheckpoints& known) {
  struct stat state{};
  if (::lstat(path.c_str(), &state) != 0 || !S_ISREG(state.st_mode)) return false;
  const auto* const before = options.exact_times ? known.find_file(file.known.path) : nullptr;
  if (before == nullptr || !before->settled || before->version != version_of(state)) return true;
  // Once more through a descriptor: the path may lead to another file by now.
  const auto opened = open_for_reading(path);
  if (!opened || ::fstat(opened.get(), &state) != 0 || before->version != version_of(state) ||
      !has_no_writer(opened.get()))
    return true;
  file.known = *before;
  file.mode = state.st_mode & 07777U;
  file.unchanged = true;
  return true;
}

bool SavedFiles::read(const std::string& path, File& file, const Options& options) {
  const auto opened = open_for_reading(path);
  struct stat state{};
  if (!opened || ::fstat(opened.get(), &state) != 0 || !S_ISREG(state.st_mode)) return false;
  file.mode = state.st_mode & 07777U;
  file.known.version = version_of(state);
  file.known.settled = options.exact_times && state.st_dev == device_ && is_older(state.st_ctim, began_) &&
                       has_no_writer(opened.get());
  const auto length = static_cast<std::uint64_t>(state.st_size);
  if (length > kInMemoryMax) {
    file.copy = ::open(options.folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return file.copy >= 0 && copy_all(opened.get(), file.copy, length);
  }
  file.bytes.resize(length);
  std::size_t got = 0;
  while (got < length) {
    const ssize_t n = ::read(opened.get(), file.bytes.data() + got, length - got);
    if (n <= 0) return false;
    got += static_cast<std::size_t>(n);
  }
  return true;
}

// Files of runs that are less than half in use are read and packed anew.
void SavedFiles::drop_sparse_runs(const KnownCheckpoints& known) {
  if (known.base() == nullptr) return;
  const auto& runs = known.base()->runs;
  std::vector<std::uint64_t> used(runs.size());
  for (const auto& file : files_) {
    if (file.unchanged && file.known.version.size > 0)
      used[file.known.run] += static_cast<std::uint64_t>(file.known.version.size);
  }
  for (auto& file : files_) {
    if (file.unchanged && file.known.version.size > 0 &&
        2 * used[file.known.run] < runs[file.known.run].length)
      file.unchanged = false;
  }
}

bool SavedFiles::put(ChunkWriter& writer, const KnownCheckpoints& known, CheckpointTable& table) {
  constexpr auto kNew = static_cast<std::size_t>(-1);
  struct Run {
    std::size_t of_base = kNew;
    std::uint64_t length = 0;
    std::vector<File*> files{};
  };
  std::vector<Run> runs;
  std::map<std::uint32_t, std::size_t> reused;  // by index of the base
  std::size_t open_run = kNew;
  std::vector<File*> empty;
  for (auto& file : files_) {
    const auto length = static_cast<std::uint64_t>(file.known.version.size);
    if (length == 0) {
      file.known.run = 0;
      file.known.offset = 0;
      empty.push_back(&file);
    } else if (file.unchanged) {
      const auto [at, is_new] = reused.try_emplace(file.known.run, runs.size());
      if (is_new) runs.push_back({file.known.run, known.base()->runs[file.known.run].length});
      runs[at->second].files.push_back(&file);
    } else if (length >= kLargeFileBytes) {
      file.known.offset = 0;
      runs.push_back({kNew, length, {&file}});
    } else {
      if (open_run == kNew || runs[open_run].length + length > kRunBytes) {
        open_run = runs.size();
        runs.push_back({});
      }
      file.known.offset = runs[open_run].length;
      runs[open_run].length += length;
      runs[open_run].files.push_back(&file);
    }
  }
  writer.end_chunk();
  writer.number(std::uint64_t{runs.size()});
  for (const auto& run : runs) writer.number(run.length);
  writer.number(std::uint64_t{files_.size()});
  const auto put_header = [&](const File& file) {
    writer.number(static_cast<std::uint32_t>(file.known.path.size()));
    writer.put(file.known.path.data(), file.known.path.size());
    writer.number(file.mode);
    writer.number(std::int64_t{file.known.version.modified.tv_sec});
    writer.number(std::int64_t{file.known.version.modified.tv_nsec});
    writer.number(static_cast<std::uint64_t>(file.known.version.size));
    writer.number(file.known.run);
    writer.number(file.known.offset);
  };
  for (const auto* file : empty) put_header(*file);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::ranges::sort(runs[i].files, {}, [](const File* file) { return file->known.offset; });
    for (auto* file : runs[i].files) {
      file->known.run = static_cast<std::uint32_t>(i);
      put_header(*file);
    }
  }
  writer.end_chunk();
  for (const auto& run : runs) {
    const auto first = static_cast<std::uint32_t>(writer.chunks().size());
    if (run.of_base == kNew) {
      for (const auto* file : run.files) {
        if (!put_bytes(writer, *file)) return false;
      }
      writer.end_chunk();
    } else {
      const auto& there = known.base()->runs[run.of_base];
      writer.refer_to(std::span(known.base()->chunks).subspan(there.first, there.chunks));
    }
    table.runs.push_back({first, static_cast<std::uint32_t>(writer.chunks().size()) - first, run.length});
  }
  for (const auto& file : files_) table.files.push_back(file.known);
  return true;
}

bool SavedFiles::put_bytes(ChunkWriter& writer, const File& file) {
  if (file.copy < 0) {
    writer.put_plain(file.bytes);
    return true;
  }
  std::array<char, 1 << 16> buffer{};
  ::lseek(file.copy, 0, SEEK_SET);
  for (auto left = static_cast<std::uint64_t>(file.known.version.size); left > 0;) {
    const ssize_t got = ::read(file.copy, buffer.data(), std::min<std::uint64_t>(buffer.size(), left));
    if (got <= 0) return false;
    writer.put_plain({buffer.data(), static_cast<std::size_t>(got)});
    left -= static_cast<std::uint64_t>(got);
  }
  return true;
}

bool SavedFileReader::read_table() {
  constexpr std::uint32_t kPathMost = 1 << 16;
  std::uint64_t runs = 0;
  if (!from_.number(runs) || runs > from_.file().chunks().size()) return false;
  runs_.resize(runs);
  for (auto& length : runs_) {
    if (!from_.number(length)) return false;
  }
  std::uint64_t count = 0;
  if (!from_.number(count)) return false;
  std::uint32_t run = 0;
  std::uint64_t offset = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    FileHeader file;
    std::uint32_t length = 0;
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    if (!from_.number(length) || length > kPathMost) return false;
    file.path.resize(length);
    if (!from_.read(file.path.data(), length) || !from_.number(file.mode) || !from_.number(seconds) ||
        !from_.number(nanoseconds) || !from_.number(file.length) || !from_.number(file.run) ||
        !from_.number(file.offset))
      return false;
    file.changed = {seconds, nanoseconds};
    if (file.length > 0) {
      if (file.run >= runs || file.run < run) return false;
      if (file.run > run) offset = 0;
      run = file.run;
      if (file.offset < offset || file.offset > runs_[run] || file.length > runs_[run] - file.offset)
        return false;
      offset = file.offset + file.length;
    }
    files_.push_back(std::move(file));
  }
  return true;
}

bool SavedFileReader::move_to(const FileHeader& file) {
  if (file.length == 0) return true;
  for (; run_ < file.run; ++run_) {
    if (!from_.skip(runs_[run_] - offset_)) return false;
    offset_ = 0;
  }
  const auto over = file.offset - offset_;
  offset_ = file.offset;
  return from_.skip(over);
}

}  // namespace remotist::volunteer::checkpoint
