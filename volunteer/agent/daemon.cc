#include "volunteer/agent/daemon.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace remotist::volunteer {
namespace {

constexpr std::string_view kReady = "ready";

}  // namespace

Daemon::Daemon(bool wanted, const std::filesystem::path& log) : log_(log) {
  if (!wanted) return;
  std::array<int, 2> ends{};
  const Descriptor file{::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
  if (file.get() < 0 || ::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::runtime_error{log.string() + " cannot be written: " + std::strerror(errno)};
  Descriptor reads{ends[0]};
  Descriptor writes{ends[1]};
  child_ = ::fork();
  if (child_ < 0) throw std::runtime_error{std::string{"fork: "} + std::strerror(errno)};
  if (child_ > 0) {
    pipe_ = std::move(reads);
    return;
  }
  pipe_ = std::move(writes);
  ::setsid();
  const Descriptor nothing{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  ::dup2(nothing.get(), STDIN_FILENO);
  ::dup2(file.get(), STDOUT_FILENO);
  ::dup2(file.get(), STDERR_FILENO);
}

int Daemon::wait() {
  std::string message;
  std::array<char, 1000> bytes;
  for (;;) {
    const auto count = ::read(pipe_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    message.append(bytes.data(), static_cast<std::size_t>(count));
  }
  if (message == kReady) {
    std::printf("the agent runs as process %d; it writes to %s\n", child_, log_.c_str());
    return 0;
  }
  std::fprintf(stderr, "volunteer-agent: %s\n",
               message.empty() ? ("the agent ended: see " + log_.string()).c_str() : message.c_str());
  return 1;
}

void Daemon::notify(std::string_view message) {
  if (pipe_.get() < 0 || is_parent()) return;
  (void)!::write(pipe_.get(), message.data(), message.size());
  pipe_ = Descriptor{};
}

void Daemon::set_ready() {
  notify(kReady);
}

void Daemon::set_failed(std::string_view why) {
  notify(why);
}

}  // namespace remotist::volunteer
