// The root file system of a zygote and its guests: the host's folders that R needs, read-only, and nothing
// else. Each host folder is mounted through an overlay, which gives every file an inode of its own, so that a
// lock on it does not affect the host's file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace remotist::volunteer {

struct RootPlan {
  std::string r_home;        // mounted also when it is not below /usr
  int guests = -1;           // the guests' folder, open; mounted at kGuestsMount
  bool detached = false;     // `guests` is a detached mount
  bool own_inodes = true;    // use overlays
  bool has_dev_zero = true;  // mapping /dev/zero creates shared memory
};

// The host's folders that are mounted there.
std::vector<std::filesystem::path> host_folders(const std::string& r_home);
// The options of mount(2) for an overlay over a folder; `empty` is an empty folder.
std::string overlay_options(const std::filesystem::path& folder, const std::filesystem::path& empty);

// Builds the root and makes it the root of this process's mount namespace; the old root is then gone from it.
// Requires an own mount namespace with CAP_SYS_ADMIN. Returns why an overlay was refused (a bind mount then
// takes its place), or nothing. Throws std::system_error.
std::string enter_root(const RootPlan& plan);

// Binds a guest's folders to /work, /out and /tmp and unmounts the guests' folder from its mount namespace.
// `disc`: the detached mount of its own file system, or -1. Throws std::system_error.
void enter_guest_folder(const std::string& folder, int disc);
// Unmounts /proc. Throws std::system_error.
void unmount_proc();

}  // namespace remotist::volunteer
