#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <format>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <vector>

#include "volunteer/sandbox/descriptor.h"
#include "volunteer/sandbox/fail.h"
#include "volunteer/sandbox/folder.h"
#include "volunteer/sandbox/sandbox.h"

namespace remotist::volunteer {

namespace {

// Deletes everything but folders; returns the names of those.
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

Descriptor open_writable(int parent, const std::string& name) {
  Descriptor inner{::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (inner) ::fchmod(inner.get(), 0700);
  if (inner || errno != EACCES) return inner;
  const Descriptor locked{::openat(parent, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
  if (!locked || ::chmod(std::format("/proc/self/fd/{}", locked.get()).c_str(), 0700) != 0) return {};
  return Descriptor{::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
}

// Empties a tree without recursion: folders of the second level are moved to the top, so that neither the
// number of descriptors nor the stack grows with the depth.
void clear(int top) {
  std::size_t moved = 0;
  for (auto folders = clear_files(top); !folders.empty(); folders = clear_files(top)) {
    for (const auto& name : folders) {
      const Descriptor inner = open_writable(top, name);
      if (!inner) fail("a guest's folder cannot be entered");
      for (const auto& below : clear_files(inner.get())) {
        // Makes it writable: renaming a folder rewrites its "..".
        open_writable(inner.get(), below);
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
