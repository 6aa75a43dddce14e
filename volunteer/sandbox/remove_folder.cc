#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <format>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <vector>

#include "volunteer/sandbox/descriptor.h"
#include "volunteer/sandbox/folder.h"
#include "volunteer/sandbox/guesthouse.h"

namespace remotist::volunteer {

namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// The names of the folders in it; everything else is deleted at once.
std::vector<std::string> clear_files(int folder) {
  const int again = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* listing = again < 0 ? nullptr : ::fdopendir(again);
  if (listing == nullptr) fail("a guest's folder cannot be listed");
  std::vector<std::string> folders;
  while (const dirent* entry = ::readdir(listing)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (::unlinkat(folder, name.c_str(), 0) == 0 || errno == ENOENT) continue;
    folders.push_back(name);
  }
  ::closedir(listing);
  return folders;
}

Descriptor enter(int parent, const std::string& name) {
  Descriptor inner{::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (inner) ::fchmod(inner.get(), 0700);
  if (inner || errno != EACCES) return inner;
  const Descriptor locked{::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!locked || ::chmod(std::format("/proc/self/fd/{}", locked.get()).c_str(), 0700) != 0) return {};
  return Descriptor{::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
}

// A folder within is emptied in place when that is one level; what is deeper is first moved up to the top, so
// that neither descriptors nor the stack grow with the depth of a tree.
void clear(int top) {
  std::size_t moved = 0;
  for (auto folders = clear_files(top); !folders.empty(); folders = clear_files(top)) {
    for (const auto& name : folders) {
      const Descriptor inner = enter(top, name);
      if (!inner) fail("a guest's folder cannot be entered");
      for (const auto& below : clear_files(inner.get())) {
        // A rename of a folder writes its "..", which needs leave to write in it.
        enter(inner.get(), below);
        std::string to;
        do to = std::format(".cleared-{}", moved++);
        while (::faccessat(top, to.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0);
        if (::renameat(inner.get(), below.c_str(), top, to.c_str()) != 0) {
          fail("a guest's folder cannot be moved");
        }
      }
      if (::unlinkat(top, name.c_str(), AT_REMOVEDIR) != 0) fail("a guest's folder cannot be deleted");
    }
  }
}

}  // namespace

void remove_folder(const std::filesystem::path& folder) {
  {
    const Descriptor top{open_folder(folder)};
    ::fchmod(top.get(), 0700);
    clear(top.get());
  }
  if (::rmdir(folder.c_str()) != 0) fail("a guest's folder cannot be deleted");
}

}  // namespace remotist::volunteer
