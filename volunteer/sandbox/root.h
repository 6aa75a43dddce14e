// The file system that a zygote and its guests see: what R needs of this machine, read-only, and nothing
// else. The host's folders are seen through an overlay, which gives each file an inode of its own: a lock on
// it is not one on the host's file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace remotist::volunteer {

struct RootPlan {
  std::string r_home;     // also when it is not below /usr
  int guests = -1;        // the guests' folder, open; seen at kGuestsMount until a guest moves in
  bool detached = false;  // it is a detached mount
  bool own_inodes = true;
  bool zero = true;  // whether there is a /dev/zero, which is a way to shared memory
};

// The host's folders that are seen there.
std::vector<std::filesystem::path> host_folders(const std::string& r_home);
// What mount(2) is told for an overlay over one of them; `empty` is an empty folder.
std::string overlay_options(const std::filesystem::path& folder, const std::filesystem::path& empty);

// Makes it the root of this process's mount namespace, which must be its own, with CAP_SYS_ADMIN over it. The
// old root is gone from the namespace afterwards. Returns why some file in it is the host's own, though it
// should not be: this machine mounts no overlay over it. Throws std::system_error.
std::string enter_root(const RootPlan& plan);

// Binds a guest's folders to /work, /out and /tmp and takes the other guests' and /proc out of its own mount
// namespace. `disc`: the mount that its folder stands on; -1 when it stands among the others. Throws
// std::system_error.
void enter_guest_folder(const std::string& folder, int disc);
// The part of it that does not need the folder's name.
void leave_proc();

}  // namespace remotist::volunteer
