#include "volunteer/sandbox/mounts.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <format>
#include <linux/loop.h>
#include <linux/mount.h>
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

#include "volunteer/sandbox/fail.h"
#include "volunteer/sandbox/fd_message.h"
#include "volunteer/sandbox/uids.h"

namespace remotist::volunteer {

namespace {

constexpr auto kMake = "/usr/sbin/mke2fs";
constexpr std::int64_t kInodeBytes = 256;
constexpr int kChildMs = 5'000;
constexpr int kLoopTries = 16;

void format_ext4(int file, std::int64_t inodes) {
  const auto count = std::to_string(inodes);
  const std::array<const char*, 18> arguments{kMake,
                                              "-q",
                                              "-F",
                                              "-t",
                                              "ext4",
                                              "-b",
                                              "4096",
                                              "-I",
                                              "256",
                                              "-m",
                                              "0",
                                              "-O",
                                              "^has_journal,^resize_inode",
                                              "-E",
                                              "lazy_itable_init=1,nodiscard",
                                              "-N",
                                              count.c_str(),
                                              "/proc/self/fd/3"};
  std::array<char*, arguments.size() + 1> argv{};
  std::ranges::transform(arguments, argv.begin(),
                         [](const char* argument) { return const_cast<char*>(argument); });
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const int standard : {0, 1, 2})
    ::posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&actions, file, 3);
  std::array<char*, 1> environment{nullptr};
  pid_t process = 0;
  const int problem = ::posix_spawn(&process, kMake, &actions, nullptr, argv.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) fail(std::format("{} (Debian's e2fsprogs) cannot be run", kMake), problem);
  int status = -1;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) fail(std::format("{} failed", kMake), EIO);
}

// Retries, because another process may take the free device first.
void attach(LoopImage& image) {
  const Descriptor control{::open("/dev/loop-control", O_RDWR | O_CLOEXEC)};
  if (!control) fail("/dev/loop-control cannot be opened");
  loop_config config{};
  config.fd = static_cast<__u32>(image.file.get());
  config.block_size = 4096;
  config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
  for (int i = 0; i < kLoopTries; ++i) {
    const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) fail("there is no free loop device");
    image.device_path = std::format("/dev/loop{}", number);
    image.device = Descriptor{::open(image.device_path.c_str(), O_RDWR | O_CLOEXEC)};
    if (!image.device) fail(std::format("{} cannot be opened", image.device_path));
    if (::ioctl(image.device.get(), LOOP_CONFIGURE, &config) == 0) return;
    if (errno != EBUSY) break;
  }
  fail(std::format("{} cannot be used", image.device_path));
}

struct Option {
  const char* name;
  const char* value;  // none: a flag
};

// Makes system calls only, because a child of a process with threads calls it. A mount, or -1 with errno.
template <std::size_t N>
int mount_detached(const char* type, const std::array<Option, N>& options) {
  const int context = static_cast<int>(::syscall(SYS_fsopen, type, FSOPEN_CLOEXEC));
  if (context < 0) return -1;
  int mount = 0;
  for (const auto& [name, value] : options) {
    const unsigned command = value == nullptr ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING;
    if (::syscall(SYS_fsconfig, context, command, name, value, 0) != 0) mount = -1;
  }
  if (mount == 0 && ::syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
    mount = -1;
  if (mount == 0) {
    mount = static_cast<int>(::syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC,
                                       MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOATIME));
  }
  const int problem = errno;
  ::close(context);
  errno = problem;
  return mount;
}

// Sends one message with the descriptor, or the errno alone. Allocates no memory.
void send_mount(int socket, int mount, int problem) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  iovec body{&problem, sizeof problem};
  msghdr message{};
  message.msg_iov = &body;
  message.msg_iovlen = 1;
  if (mount >= 0) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &mount, sizeof mount);
  }
  ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

template <std::size_t N>
Descriptor mount_in_child(const char* type, const std::array<Option, N>& options) {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0)
    fail("no socket for a mount");
  const Descriptor ours{pair[0]};
  Descriptor theirs{pair[1]};
  const auto child = static_cast<pid_t>(
      ::syscall(SYS_clone, CLONE_NEWUSER | CLONE_NEWNS | SIGCHLD, nullptr, nullptr, nullptr, 0));
  if (child < 0) fail("no namespaces for a mount");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char go = 0;
    if (::read(theirs.get(), &go, 1) != 1) ::_exit(1);
    const int mount = mount_detached(type, options);
    send_mount(theirs.get(), mount, errno);
    ::_exit(0);
  }
  theirs.reset();
  std::optional<FdMessage> answer;
  int problem = ECHILD;
  try {
    map_uids(child, {false, ::geteuid(), ::getegid(), 1});
    pollfd readable{ours.get(), POLLIN, 0};
    if (::send(ours.get(), "g", 1, MSG_NOSIGNAL) == 1 && ::poll(&readable, 1, kChildMs) > 0)
      answer = receive_fd_message(ours.get());
  } catch (const std::system_error& error) {
    problem = error.code().value();
  }
  ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (answer && answer->descriptors.size() == 1) return std::move(answer->descriptors[0]);
  if (answer && answer->text.size() == sizeof problem)
    std::memcpy(&problem, answer->text.data(), sizeof problem);
  fail(std::format("{} cannot be mounted", type), problem);
}

}  // namespace

// Adds what ext4 needs itself: inode tables, bitmaps, and the blocks that it reserves (a fiftieth, at most
// 16 MiB).
std::int64_t ext4_image_bytes(std::int64_t bytes, std::int64_t inodes) {
  const auto tables = inodes * kInodeBytes;
  const auto reserved = std::min<std::int64_t>((bytes + tables) / 45, 16 << 20);
  return ((bytes + tables + tables / 64 + reserved + bytes / 256 + (2 << 20)) + 4095) / 4096 * 4096;
}

LoopImage make_ext4_image(const std::string& folder, std::int64_t bytes, std::int64_t inodes) {
  LoopImage image;
  image.file = Descriptor{::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
  if (!image.file) fail(std::format("a file without a name cannot be made in {}", folder));
  if (::ftruncate(image.file.get(), ext4_image_bytes(bytes, inodes)) != 0)
    fail("an image cannot be so large");
  format_ext4(image.file.get(), inodes);
  attach(image);
  return image;
}

Descriptor mount_ext4(const std::string& device_path) {
  // The contents are temporary, so no write needs a disc flush.
  const std::array options{Option{"source", device_path.c_str()}, Option{"noinit_itable", nullptr},
                           Option{"nobarrier", nullptr}};
  Descriptor mount{mount_detached("ext4", options)};
  if (!mount) fail(std::format("{} cannot be mounted", device_path));
  return mount;
}

Descriptor mount_tmpfs(std::int64_t bytes, std::int64_t inodes) {
  const auto size = std::to_string(bytes);
  const auto count = std::to_string(inodes);
  const std::array options{Option{"size", size.c_str()}, Option{"nr_inodes", count.c_str()},
                           Option{"mode", "755"}};
  Descriptor mount{mount_detached("tmpfs", options)};
  if (mount) return mount;
  if (errno != EPERM) fail("tmpfs cannot be mounted");
  return mount_in_child("tmpfs", options);
}

}  // namespace remotist::volunteer
