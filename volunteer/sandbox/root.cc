#include "volunteer/sandbox/root.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <format>
#include <fstream>
#include <linux/mount.h>
#include <string>
#include <string_view>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include "volunteer/sandbox/fail.h"
#include "volunteer/sandbox/guest.h"
#include "volunteer/sandbox/launch.h"

namespace remotist::volunteer {

namespace {

namespace fs = std::filesystem;

// Where the new root is built: a folder that every machine has, covered in this mount namespace only.
const fs::path kSite = "/tmp";

constexpr std::array kFolders{"lib",     "lib32", "lib64",   "libx32",   "bin",
                              "libexec", "share", "include", "local/lib"};
constexpr std::array kTopFolders{"bin", "lib", "lib32", "lib64", "libx32"};
constexpr std::array kDevices{"null", "zero", "full", "random", "urandom"};
// Not Renviron.site and Rprofile.site, which configure the owner's own R sessions.
constexpr std::array kCopied{"R/Renviron", "R/Makeconf", "R/ldpaths", "R/repositories", "ld.so.cache"};

void bind_mount(const fs::path& from, const fs::path& to) {
  if (::mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) != 0) {
    fail(std::format("{} cannot be bound to {}", from.string(), to.string()));
  }
}

// Keeps the flags that the mount has: those of a mount from another namespace may be locked.
void restrict(const fs::path& mount, unsigned long flags) {
  mount_attr attributes{};
  attributes.attr_set = ((flags & MS_RDONLY) != 0 ? MOUNT_ATTR_RDONLY : 0) |
                        ((flags & MS_NODEV) != 0 ? MOUNT_ATTR_NODEV : 0) | MOUNT_ATTR_NOSUID;
  if (::syscall(SYS_mount_setattr, AT_FDCWD, mount.c_str(), AT_RECURSIVE, &attributes, sizeof attributes) ==
      0)
    return;
  if (errno != ENOSYS) fail(std::format("{} cannot be made read-only", mount.string()));
  struct statvfs now{};
  ::statvfs(mount.c_str(), &now);
  unsigned long kept = 0;
  if ((now.f_flag & ST_RDONLY) != 0) kept |= MS_RDONLY;
  if ((now.f_flag & ST_NODEV) != 0) kept |= MS_NODEV;
  if ((now.f_flag & ST_NOEXEC) != 0) kept |= MS_NOEXEC;
  if ((now.f_flag & ST_NOATIME) != 0) kept |= MS_NOATIME;
  if ((now.f_flag & ST_NODIRATIME) != 0) kept |= MS_NODIRATIME;
  if ((now.f_flag & ST_RELATIME) != 0) kept |= MS_RELATIME;
  if (::mount(nullptr, mount.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_NOSUID | kept | flags, nullptr) !=
      0) {
    fail(std::format("{} cannot be made read-only", mount.string()));
  }
}

std::vector<fs::path> system_folders() {
  std::vector<fs::path> all;
  for (const char* name : kFolders) all.push_back(fs::path("/usr") / name);
  for (const char* name : kTopFolders) all.push_back(fs::path("/") / name);
  return all;
}

// A path as the options of an overlay quote it.
std::string escaped(const fs::path& path) {
  std::string text;
  for (const char letter : path.string()) {
    if (letter == ':' || letter == ',' || letter == '\\') text += '\\';
    text += letter;
  }
  return text;
}

// Mounts folders of the host in the new root, read-only.
class HostMounts {
 public:
  explicit HostMounts(bool own_inodes) : own_inodes_(own_inodes) {}

  void mount(const fs::path& from, const fs::path& to) {
    std::error_code ignored;
    fs::create_directories(to, ignored);
    if (own_inodes_ && overlay(from, to)) return;
    bind_mount(from, to);
    restrict(to, MS_RDONLY | MS_NODEV);
  }
  // Why the first overlay was refused; empty when none was.
  const std::string& refused() const { return refused_; }

 private:
  // The kernel refuses an overlay over a folder with a mount in it, which would show what that mount covers.
  bool overlay(const fs::path& from, const fs::path& to) {
    const auto options = overlay_options(from, kSite / "work");
    if (::mount("host", to.c_str(), "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, options.c_str()) == 0)
      return true;
    if (refused_.empty()) refused_ = std::format("{}: {}", from.string(), std::strerror(errno));
    return false;
  }

  bool own_inodes_;
  std::string refused_;
};

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream{file} << text;
}

void make_etc(const fs::path& site) {
  fs::create_directories(site / "etc/R");
  for (const char* name : kCopied) {
    std::error_code ignored;  // some machines lack some
    fs::copy_file(fs::path("/etc") / name, site / "etc" / name, ignored);
  }
  write_text(site / "etc/passwd", "guest:x:1000:1000:guest:/work:/bin/sh\n");
  write_text(site / "etc/group", "guest:x:1000:\n");
  write_text(site / "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n");
  write_text(site / "etc/hosts", "127.0.0.1 localhost\n");
}

void make_devices(const fs::path& site, bool has_dev_zero) {
  fs::create_directories(site / "dev");
  for (const char* name : kDevices) {
    if (!has_dev_zero && name == std::string_view("zero")) continue;
    const fs::path node = site / "dev" / name;
    write_text(node, "");
    bind_mount(fs::path("/dev") / name, node);
    restrict(node, MS_RDONLY);  // the device can still be written to
  }
  fs::create_symlink("/tmp", site / "dev/shm");
}

// Recreates links such as /bin -> usr/bin.
void make_links(const fs::path& site) {
  for (const auto& folder : system_folders()) {
    if (fs::is_symlink(folder)) fs::create_symlink(fs::read_symlink(folder), site / folder.relative_path());
  }
}

void attach_guests(int folder, bool detached, const fs::path& to) {
  if (detached) {
    if (::syscall(SYS_move_mount, folder, "", AT_FDCWD, to.c_str(), MOVE_MOUNT_F_EMPTY_PATH) != 0) {
      fail("the guests' folder cannot be attached");
    }
  } else {
    bind_mount(std::format("/proc/self/fd/{}", folder), to);
  }
  restrict(to, MS_NODEV);
}

}  // namespace

std::vector<fs::path> host_folders(const std::string& r_home) {
  auto all = system_folders();
  std::erase_if(all, [](const fs::path& each) { return fs::is_symlink(each); });
  all.insert(all.end(), {"/etc/alternatives", "/etc/fonts"});
  if (!r_home.starts_with("/usr/")) all.emplace_back(r_home);
  std::erase_if(all, [](const fs::path& each) { return !fs::is_directory(each); });
  return all;
}

// A read-only overlay needs two lower folders.
std::string overlay_options(const fs::path& folder, const fs::path& empty) {
  return std::format("lowerdir={}:{},userxattr", escaped(folder), escaped(empty));
}

std::string enter_root(const RootPlan& plan) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    fail("mounts cannot be made private");
  ::umask(022);
  if (::mount("root", kSite.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "size=8m,nr_inodes=4k,mode=755") != 0) {
    fail("a root for guests cannot be mounted");
  }
  fs::create_directories(kSite / "usr/local");
  for (const char* name : {"proc", "guests", "work", "out", "tmp"}) fs::create_directory(kSite / name);
  bind_mount("/proc", kSite / "proc");
  HostMounts host{plan.own_inodes};
  for (const auto& folder : host_folders(plan.r_home)) host.mount(folder, kSite / folder.relative_path());
  make_links(kSite);
  make_etc(kSite);
  make_devices(kSite, plan.has_dev_zero);
  attach_guests(plan.guests, plan.detached, kSite / "guests");
  if (::chdir(kSite.c_str()) != 0 || ::syscall(SYS_pivot_root, ".", ".") != 0 ||
      ::umount2(".", MNT_DETACH) != 0 || ::chdir("/") != 0) {
    fail("the root cannot be changed");
  }
  if (::mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr) != 0) {
    fail("the root cannot be made read-only");
  }
  return host.refused();
}

void unmount_proc() {
  if (::umount2("/proc", MNT_DETACH) != 0) fail("/proc cannot be unmounted");
}

void enter_guest_folder(const std::string& folder, int disc) {
  if (disc >= 0 && ::syscall(SYS_move_mount, disc, "", AT_FDCWD, kGuestsMount, MOVE_MOUNT_F_EMPTY_PATH) != 0)
    fail("the guest's disc cannot be attached");
  const auto attach = [&folder](const char* name, const char* to) {
    const auto from = std::format("{}/{}/{}", kGuestsMount, folder, name);
    if (::mount(from.c_str(), to, nullptr, MS_BIND, nullptr) != 0) {
      fail(std::format("the guest's folder {} cannot be bound", name));
    }
  };
  attach(kWorkFolder, kWorkMount);
  attach(kOutFolder, kOutMount);
  attach(kTmpFolder, "/tmp");
  if (disc >= 0 && ::umount2(kGuestsMount, MNT_DETACH) != 0) fail("the guest's disc cannot be detached");
  if (::umount2(kGuestsMount, MNT_DETACH) != 0) fail("the other guests' folders cannot be unmounted");
}

}  // namespace remotist::volunteer
