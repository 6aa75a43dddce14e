#include "volunteer/runner/enter_sandbox.h"

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

#include "volunteer/runner/r_session.h"
#include "volunteer/sandbox/fd_message.h"
#include "volunteer/sandbox/privileges.h"
#include "volunteer/sandbox/rlimits.h"
#include "volunteer/sandbox/root.h"

namespace remotist::volunteer {

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void ignore_by_handler(int) {}

// Handlers instead of SIG_IGN, which programs that the script starts would inherit.
void set_signals() {
  struct sigaction handled{};
  handled.sa_handler = ignore_by_handler;
  handled.sa_flags = SA_RESTART;
  ::sigaction(SIGPIPE, &handled, nullptr);
  ::sigaction(SIGXFSZ, &handled, nullptr);
  // When another process opens a file on which the checkpoint engine has a lease for a moment.
  ::sigaction(SIGIO, &handled, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

struct Folders {
  std::string work;
  std::string out;
};

Folders enter_folders(const ZygoteConfig& zygote, const GuestConfig& guest, int disc) {
  if (zygote.protections.own_root) {
    enter_guest_folder(guest.folder, disc);
    return {kWorkMount, kOutMount};
  }
  const std::filesystem::path folder = std::filesystem::path(zygote.guests) / guest.folder;
  ::setenv("TMPDIR", (folder / kTmpFolder).c_str(), 1);
  return {folder / kWorkFolder, folder / kOutFolder};
}

void set_uid(const ZygoteConfig& zygote, const GuestConfig& guest) {
  const bool keep = !zygote.protections.no_privileges;
  // Before the uid changes, which removes the capability to do this.
  if (!keep) empty_bounding_set();
  if (zygote.protections.own_uid && zygote.uid_range) switch_user(guest.uid, guest.uid, keep);
  if (keep) keep_capabilities();
}

// Called as the guest in its own root, so that a link leads only where the job itself could go.
std::string read_script(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
  if (!file) fail(std::format("the script {} cannot be opened", path));
  std::string text;
  char buffer[1 << 14];
  ssize_t got = 0;
  while ((got = ::read(file.get(), buffer, sizeof buffer)) > 0)
    text.append(buffer, static_cast<std::size_t>(got));
  if (got < 0) fail(std::format("the script {} cannot be read", path));
  if (text.contains('\0')) throw std::runtime_error(std::format("the script {} is not text", path));
  return text;
}

Job set_up(const ZygoteConfig& zygote, const SeccompProgram& policy, const GuestConfig& guest, int socket,
           int proc, Descriptor disc) {
  const auto mapped = mapped_bytes_now(proc);
  const auto folders = enter_folders(zygote, guest, disc.get());
  disc.reset();
  // Before the limits: a limit on processes that was set first would count those of all guests together. A
  // new user namespace also has a full bounding set, so set_uid() follows.
  if (zygote.protections.own_uid && !zygote.uid_range) enter_own_user_namespace(proc);
  if (zygote.protections.rlimits && !set_rlimits(guest.limits, mapped, guest.resumable))
    fail("the limits of a guest cannot be set");
  set_uid(zygote, guest);
  ::close(proc);
  if (::chdir(folders.work.c_str()) != 0) fail("the job's folder cannot be entered");
  const int out = ::open(folders.out.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (out < 0) fail("the folder for the result cannot be opened");
  set_signals();
  ::umask(022);
  ::prctl(PR_SET_NAME, "guest");
  if (zygote.protections.no_privileges) drop_capabilities();
  if (zygote.protections.seccomp && !load_policy(policy)) fail("the seccomp policy cannot be loaded");
  return {.frames = socket,
          .out = out,
          .script = {},
          .heap_mb = r_heap_mb(guest.limits),
          .limit_heap = zygote.protections.rlimits,
          .watched_variables = guest.watched_variables,
          .resumable = guest.resumable,
          .out_path = folders.out,
          .exec_file = guest.exec_file,
          .checkpoint_every_ms = guest.checkpoint_every_ms,
          .output_marker = guest.output_marker,
          .exact_times = guest.exact_times,
          .watched = guest.watched};
}

}  // namespace

void enter_sandbox(const ZygoteConfig& zygote, const SeccompProgram& policy, int socket, int proc) {
  bool began = false;
  touch_r_pages();
  auto message = receive_fd_message(socket);
  if (!message) ::_exit(0);
  try {
    if (message->descriptors.empty())
      throw std::runtime_error("a guest's configuration came without its pipe");
    ::dup2(message->descriptors[0].get(), STDOUT_FILENO);
    ::dup2(message->descriptors[0].get(), STDERR_FILENO);
    message->descriptors.erase(message->descriptors.begin());
    const auto guest = parse_guest_config(message->text);
    Descriptor disc;
    if (guest.own_disc) {
      if (message->descriptors.empty())
        throw std::runtime_error("a guest's configuration came without its disc");
      disc = std::move(message->descriptors[0]);
      message->descriptors.erase(message->descriptors.begin());
    }
    Job job = set_up(zygote, policy, guest, socket, proc, std::move(disc));
    if (guest.resumes) {
      if (message->descriptors.empty())
        throw std::runtime_error("a guest's configuration came without its checkpoint");
      job.checkpoint = message->descriptors[0].get();
    }
    send_message(socket, Began{});
    began = true;
    job.script = read_script(guest.exec_file);
    run_job(job);
  } catch (const std::exception& error) {
    if (began) {
      send_message(socket, Failed{error.what()});
    } else {
      send_message(socket, Refused{error.what()});
    }
  }
  ::_exit(1);
}

}  // namespace remotist::volunteer
