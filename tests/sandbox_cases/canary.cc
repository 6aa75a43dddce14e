#include "tests/sandbox_cases/canary.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <netinet/in.h>
#include <random>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace remotist::volunteer::cases {
namespace {

std::string status_line(pid_t pid, const std::string& key) {
  std::ifstream status{"/proc/" + std::to_string(pid) + "/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(key + ":")) return line.substr(line.find_last_of("\t ") + 1);
  return "";
}

}  // namespace

CanaryProcess::CanaryProcess() {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  pid_ = fork();
  if (pid_ < 0) throw std::system_error{errno, std::generic_category(), "fork"};
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

CanaryProcess::~CanaryProcess() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::string CanaryProcess::harm() const {
  int status = 0;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0)
    return "the canary process is dead";
  if (waitpid(pid_, &status, WNOHANG | WUNTRACED) != 0) return "the canary process was stopped";
  for (const auto* const key : {"SigPnd", "ShdPnd"})
    if (status_line(pid_, key).find_first_not_of('0') != std::string::npos)
      return "the canary process got a signal";
  if (status_line(pid_, "TracerPid") != "0") return "the canary process is traced";
  return "";
}

CanarySocket CanarySocket::bound(int type, const void* address, std::size_t length) {
  const auto* const to = static_cast<const sockaddr*>(address);
  const int fd = socket(to->sa_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return CanarySocket{-1, type == SOCK_STREAM};
  if (bind(fd, to, static_cast<socklen_t>(length)) != 0 || (type == SOCK_STREAM && listen(fd, 64) != 0)) {
    close(fd);
    return CanarySocket{-1, type == SOCK_STREAM};
  }
  return CanarySocket{fd, type == SOCK_STREAM};
}

CanarySocket CanarySocket::ipv4() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return bound(SOCK_STREAM, &address, sizeof address);
}

CanarySocket CanarySocket::ipv6() {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  return bound(SOCK_STREAM, &address, sizeof address);
}

CanarySocket CanarySocket::udp(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return bound(SOCK_DGRAM, &address, sizeof address);
}

CanarySocket CanarySocket::file(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  auto made = bound(SOCK_STREAM, &address, sizeof address);
  chmod(path.c_str(), 0777);
  return made;
}

CanarySocket CanarySocket::abstract(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 2);
  return bound(SOCK_STREAM, &address, offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

CanarySocket::~CanarySocket() {
  if (fd_ >= 0) close(fd_);
}

CanarySocket::CanarySocket(CanarySocket&& other) noexcept
    : fd_{std::exchange(other.fd_, -1)}, stream_{other.stream_} {}

std::uint16_t CanarySocket::port() const {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (fd_ < 0 || getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

bool CanarySocket::reached() {
  bool anybody = false;
  while (fd_ >= 0) {
    std::array<char, 64> word{};
    const auto got =
        stream_ ? accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC) : recv(fd_, word.data(), word.size(), 0);
    if (got < 0) break;
    anybody = true;
    if (stream_) close(static_cast<int>(got));
  }
  return anybody;
}

void CanarySocket::answer_names() const {
  std::array<unsigned char, 512> message{};
  sockaddr_storage from{};
  socklen_t length = sizeof from;
  const auto got = recvfrom(fd_, message.data(), 400, 0, reinterpret_cast<sockaddr*>(&from), &length);
  if (got < 17) return;
  message[2] = 0x81;
  message[3] = 0x80;
  message[7] = 1;   // one answer
  message[11] = 0;  // and nothing more
  auto end = static_cast<std::size_t>(12);
  while (end < static_cast<std::size_t>(got) && message.at(end) != 0) end += message.at(end) + 1U;
  end += 5;
  constexpr std::array<unsigned char, 16> kAnswer{0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 192, 0, 2, 1};
  std::ranges::copy(kAnswer, message.begin() + static_cast<std::ptrdiff_t>(end));
  sendto(fd_, message.data(), end + kAnswer.size(), 0, reinterpret_cast<sockaddr*>(&from), length);
}

CanarySegment::CanarySegment() {
  std::random_device random;
  while (id_ < 0) {
    key_ = static_cast<key_t>(random() % 0x7ffffffe + 1);
    id_ = shmget(key_, 4096, IPC_CREAT | IPC_EXCL | 0666);
    if (id_ < 0 && errno != EEXIST) return;
  }
}

CanarySegment::~CanarySegment() {
  if (id_ >= 0) shmctl(id_, IPC_RMID, nullptr);
}

}  // namespace remotist::volunteer::cases
