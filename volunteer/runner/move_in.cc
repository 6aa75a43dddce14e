#include "volunteer/runner/move_in.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <format>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "volunteer/runner/engine.h"
#include "volunteer/sandbox/parcel.h"
#include "volunteer/sandbox/privileges.h"
#include "volunteer/sandbox/rlimits.h"
#include "volunteer/sandbox/root.h"

namespace remotist::volunteer {

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void ignore_by_handler(int) {}

// Handled, not ignored: a program that the script starts has the defaults again.
void set_signals() {
  struct sigaction handled{};
  handled.sa_handler = ignore_by_handler;
  handled.sa_flags = SA_RESTART;
  ::sigaction(SIGPIPE, &handled, nullptr);
  ::sigaction(SIGXFSZ, &handled, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

struct Folders {
  std::string work;
  std::string out;
};

Folders enter_folders(const ZygoteOrder& house, const GuestOrder& order, int disc) {
  if (house.layers.own_root) {
    enter_guest_folder(order.folder, disc);
    return {kWorkMount, kOutMount};
  }
  const std::filesystem::path folder = std::filesystem::path(house.guests) / order.folder;
  ::setenv("TMPDIR", (folder / kTmpFolder).c_str(), 1);
  return {folder / kWorkFolder, folder / kOutFolder};
}

void take_uid(const ZygoteOrder& house, const GuestOrder& order) {
  const bool keep = !house.layers.no_privileges;
  // A new uid takes away the right to empty it.
  if (!keep) empty_bounding_set();
  if (house.layers.own_uid && house.uid_range) become(order.uid, order.uid, keep);
  if (keep) keep_capabilities();
}

// As the guest, in its own root: a link leads nowhere that the job could not go by itself.
std::string read_script(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  if (!file) fail(std::format("the script {} cannot be opened", path));
  std::string text;
  char buffer[1 << 14];
  ssize_t got = 0;
  while ((got = ::read(file.get(), buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<std::size_t>(got));
  if (got < 0) fail(std::format("the script {} cannot be read", path));
  if (text.contains('\0')) throw std::runtime_error(std::format("the script {} is no text", path));
  return text;
}

Job set_up(const ZygoteOrder& house, const SeccompProgram& policy, const GuestOrder& order, int socket,
           int proc, Descriptor disc) {
  const auto mapped = mapped_bytes_now(proc);
  const auto folders = enter_folders(house, order, disc.get());
  disc.reset();
  // Before the limits: one on processes that was there first would count those of all guests together. And it
  // brings a new bounding set.
  if (house.layers.own_uid && !house.uid_range) enter_own_user_namespace(proc);
  if (house.layers.rlimits && !set_rlimits(order.limits, mapped, order.resumable))
    fail("the limits of a guest cannot be set");
  take_uid(house, order);
  ::close(proc);
  if (::chdir(folders.work.c_str()) != 0) fail("the job's folder cannot be entered");
  const int out = ::open(folders.out.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (out < 0) fail("the folder for the result cannot be opened");
  set_signals();
  ::umask(022);
  ::prctl(PR_SET_NAME, "guest");
  if (house.layers.no_privileges) drop_capabilities();
  if (house.layers.seccomp && !load_policy(policy)) fail("the seccomp policy cannot be loaded");
  return {.frames = socket,
          .out = out,
          .script = {},
          .heap_mb = r_heap_mb(order.limits),
          .limit_heap = house.layers.rlimits,
          .watched = order.watched,
          .resumable = order.resumable,
          .out_path = folders.out,
          .checkpoint_every_ms = order.checkpoint_every_ms};
}

}  // namespace

void move_in(const ZygoteOrder& house, const SeccompProgram& policy, int socket, int proc) {
  bool began = false;
  rehearse();
  auto parcel = receive_parcel(socket);
  if (!parcel) ::_exit(0);
  try {
    if (parcel->descriptors.empty()) throw std::runtime_error("a guest's order came without its pipe");
    ::dup2(parcel->descriptors[0].get(), STDOUT_FILENO);
    ::dup2(parcel->descriptors[0].get(), STDERR_FILENO);
    parcel->descriptors.erase(parcel->descriptors.begin());
    const auto order = guest_order_in(parcel->text);
    Descriptor disc;
    if (order.own_disc) {
      if (parcel->descriptors.empty()) throw std::runtime_error("a guest's order came without its disc");
      disc = std::move(parcel->descriptors[0]);
      parcel->descriptors.erase(parcel->descriptors.begin());
    }
    Job job = set_up(house, policy, order, socket, proc, std::move(disc));
    if (!parcel->descriptors.empty()) job.checkpoint = parcel->descriptors[0].get();
    say(socket, Began{});
    began = true;
    job.script = read_script(order.exec_file);
    run_job(job);
  } catch (const std::exception& error) {
    if (began) {
      say(socket, Failed{error.what()});
    } else {
      say(socket, Refused{error.what()});
    }
  }
  ::_exit(1);
}

}  // namespace remotist::volunteer
