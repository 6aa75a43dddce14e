#include "volunteer/sandbox/folder.h"

#include <algorithm>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <format>
#include <functional>
#include <optional>
#include <sys/stat.h>
#include <system_error>

#include "core/file_path.h"
#include "core/limits.h"
#include "core/utf8.h"
#include "volunteer/sandbox/descriptor.h"
#include "volunteer/sandbox/fail.h"

namespace remotist::volunteer {

namespace {

// Each level holds a descriptor open, so this bounds the number of descriptors as well.
constexpr std::size_t kDepthMax = 128;
constexpr std::size_t kFilesSeenMax = 200'000;
constexpr std::size_t kNotesMax = 20;
constexpr std::size_t kShownBytesMax = 80;

class Listing {
 public:
  // Takes ownership of the descriptor.
  explicit Listing(int folder) : stream_(::fdopendir(folder)) {
    if (stream_ == nullptr) ::close(folder);
  }
  ~Listing() {
    if (stream_ != nullptr) ::closedir(stream_);
  }
  Listing(const Listing&) = delete;
  Listing& operator=(const Listing&) = delete;

  const char* next() {
    while (stream_ != nullptr) {
      const dirent* entry = ::readdir(stream_);
      if (entry == nullptr) return nullptr;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") return entry->d_name;
    }
    return nullptr;
  }
  int folder() const { return ::dirfd(stream_); }
  bool open() const { return stream_ != nullptr; }

 private:
  DIR* stream_;
};

int open_below(int parent, const char* name) {
  return ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// A guest of an ordinary user's agent has that user's uid and may leave a folder without permissions.
int open_below_or_unlock(int parent, const char* name) {
  int fd = open_below(parent, name);
  if (fd >= 0 || errno != EACCES) return fd;
  const Descriptor locked{::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!locked) return -1;
  const auto link = std::format("/proc/self/fd/{}", locked.get());
  if (::chmod(link.c_str(), 0700) != 0) return -1;
  return open_below(parent, name);
}

struct Entry {
  int parent;
  const char* name;
  const struct stat& state;
  const std::string& path;  // relative to the top
  bool too_deep;            // a folder below kDepthMax, which is not entered
};
// Called for every entry, folders before what is in them. Returns whether to go on.
using Visit = std::function<bool(const Entry&)>;

bool walk(int folder, std::string& path, std::size_t depth, const Visit& visit) {
  Listing listing{folder};
  while (const char* name = listing.next()) {
    struct stat state{};
    if (::fstatat(listing.folder(), name, &state, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const std::size_t length = path.size();
    if (!path.empty()) path += '/';
    path += name;
    const bool is_folder = S_ISDIR(state.st_mode);
    if (!visit({listing.folder(), name, state, path, is_folder && depth == kDepthMax})) return false;
    if (is_folder && depth < kDepthMax) {
      const int below = open_below_or_unlock(listing.folder(), name);
      if (below >= 0 && !walk(below, path, depth + 1, visit)) return false;
    }
    path.resize(length);
  }
  return true;
}

void walk(const std::filesystem::path& top, const Visit& visit) {
  std::string path;
  walk(open_folder(top), path, 0, visit);
}

bool same(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

// A path for use in a message.
std::string shown(std::string_view path) {
  auto text = clean_text(path, kShownBytesMax);
  std::ranges::replace(text, '\n', '?');
  return text;
}

void note(std::vector<std::string>& notes, std::string message) {
  if (notes.size() < kNotesMax) notes.push_back(std::move(message));
}

FileState file_state(const struct stat& state) {
  return {state.st_ino, state.st_size, state.st_ctim};
}

}  // namespace

int open_folder(const std::filesystem::path& path) {
  const int fd = open_below_or_unlock(AT_FDCWD, path.c_str());
  if (fd < 0) fail(std::format("folder {} cannot be opened", path.string()));
  return fd;
}

void give_folder(const std::filesystem::path& folder, uid_t uid, gid_t gid) {
  const Descriptor top{open_folder(folder)};
  if (::fchown(top.get(), uid, gid) != 0) fail("a guest's folder cannot be given to it");
  walk(folder, [uid, gid](const Entry& entry) {
    if (::fchownat(entry.parent, entry.name, uid, gid, AT_SYMLINK_NOFOLLOW) != 0) {
      fail("a guest's files cannot be given to it");
    }
    return true;
  });
}

FolderSize measure_folder(const std::filesystem::path& folder, std::int64_t bytes_max,
                          std::int64_t inodes_max) {
  FolderSize size{0, 1, true};
  walk(folder, [&](const Entry& entry) {
    size.bytes += entry.state.st_blocks * 512;
    size.inodes += entry.too_deep ? inodes_max + 1 : 1;
    size.complete = size.bytes <= bytes_max && size.inodes <= inodes_max;
    return size.complete;
  });
  return size;
}

bool FileState::operator==(const FileState& other) const {
  return inode == other.inode && size == other.size && same(changed, other.changed);
}

FolderState state_of(const std::filesystem::path& folder) {
  FolderState files;
  walk(folder, [&](const Entry& entry) {
    if (S_ISREG(entry.state.st_mode)) files.emplace(entry.path, file_state(entry.state));
    return files.size() < kFilesSeenMax;
  });
  return files;
}

MadeFiles made_since(const FolderState& before, const std::filesystem::path& folder, std::int64_t bytes_max) {
  MadeFiles made;
  FileTree kept;
  std::vector<std::string> escaped;  // paths that need escaping; valid paths take precedence
  const auto leave_out = [&made](std::string message) { note(made.left_out, std::move(message)); };
  std::int64_t bytes = 0;
  walk(folder, [&](const Entry& entry) {
    if (entry.too_deep) leave_out(std::format("a folder is more than {} deep", kDepthMax));
    if (!S_ISREG(entry.state.st_mode)) return true;
    const auto old = before.find(entry.path);
    if (old != before.end() && old->second == file_state(entry.state)) return true;
    if (!kept_file_path(entry.path)) {
      leave_out(
          std::format("the name of {} is longer than {} bytes", shown(entry.path), limits::kPathBytesMax));
      return true;
    }
    if (made.paths.size() + escaped.size() == kMadeFilesMax) {
      leave_out(std::format("the job made more than {} files", kMadeFilesMax));
      return false;
    }
    // The apparent size: holes are read and sent like data.
    if (entry.state.st_size > bytes_max - bytes) {
      leave_out(std::format("too_large: with {} the files that the job made are longer than {} MB together",
                            shown(entry.path), bytes_max >> 20));
      return true;
    }
    // The agent may be the same ordinary user as the guest, and must be able to read it.
    if ((entry.state.st_mode & S_IRUSR) == 0 && ::fchmodat(entry.parent, entry.name, 0600, 0) != 0) {
      leave_out(std::format("{} cannot be read", shown(entry.path)));
      return true;
    }
    bytes += entry.state.st_size;
    if (is_file_path(entry.path)) {
      kept.add(entry.path);
      made.paths.push_back(entry.path);
    } else {
      escaped.push_back(entry.path);
    }
    return true;
  });
  std::ranges::sort(escaped);
  for (auto& path : escaped) {
    const auto name = kept_file_path(path).value();
    if (kept.add(name)) {
      leave_out(std::format("{} would be kept as {}, which is another file's name", shown(path), name));
    } else {
      note(made.renamed, std::format("{} is kept as {}", shown(path), name));
      made.paths.push_back(std::move(path));
    }
  }
  std::ranges::sort(made.paths);
  return made;
}

}  // namespace remotist::volunteer
