#include "core/amqp/socket.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include "core/amqp/fault.h"

namespace remotist::amqp {
namespace {

std::string text_of(int error) {
  return std::generic_category().message(error);
}

// Rounded up, so that a wait of less than a millisecond is not a spin.
int milliseconds_until(Clock::time_point deadline) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp(left, milliseconds{0}, milliseconds{3'600'000}).count());
}

// Until one of `events` (-1 for fd: none is awaited) or the deadline. False when woken or stopped.
bool poll_one(int fd, short events, Wake* wake, Clock::time_point deadline) {
  if (wake != nullptr && wake->stopped()) return false;
  std::array<pollfd, 2> polled{{{fd, events, 0}, {wake == nullptr ? -1 : wake->fd(), POLLIN, 0}}};
  const int ready = poll(polled.data(), polled.size(), milliseconds_until(deadline));
  if (ready < 0 && errno != EINTR) throw std::system_error{errno, std::generic_category(), "poll"};
  if (ready <= 0 || polled[1].revents == 0) return true;
  wake->drain();
  return false;
}

void set_option(int fd, int level, int name, int value) {
  if (setsockopt(fd, level, name, &value, sizeof value) != 0) {
    throw std::system_error{errno, std::generic_category(), "setsockopt"};
  }
}

// An errno: 0 when connected, ECANCELED when stopped.
int finish_connecting(int fd, Clock::time_point deadline, Wake* wake) {
  for (;;) {
    pollfd polled{fd, POLLOUT, 0};
    if (poll(&polled, 1, 0) > 0) break;
    if (Clock::now() >= deadline) return ETIMEDOUT;
    if (!poll_one(fd, POLLOUT, wake, deadline) && wake->stopped()) return ECANCELED;
  }
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

}  // namespace

Socket::Socket(const std::string& host, std::uint16_t port, Clock::time_point deadline, Wake* wake)
    : wake_(wake) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  if (const int failure = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
      failure != 0) {
    throw ConnectionLost{"cannot find the broker's host: " + std::string{gai_strerror(failure)}};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses{list, freeaddrinfo};

  int error = EHOSTUNREACH;
  for (const addrinfo* address = list; address != nullptr; address = address->ai_next) {
    fd_ = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, address->ai_protocol);
    if (fd_ < 0) {
      // A machine without IPv6, say; the next address may do.
      error = errno;
      continue;
    }
    error = connect(fd_, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) error = finish_connecting(fd_, deadline, wake);
    if (error == 0) break;
    close(fd_);
    fd_ = -1;
    if (error == ECANCELED || error == ETIMEDOUT) break;
  }
  if (fd_ < 0) throw ConnectionLost{"cannot connect: " + text_of(error)};

  try {
    set_option(fd_, IPPROTO_TCP, TCP_NODELAY, 1);
    set_option(fd_, SOL_SOCKET, SO_KEEPALIVE, 1);
  } catch (...) {
    close(fd_);
    throw;
  }
}

Socket::~Socket() {
  close(fd_);
}

std::size_t Socket::send(std::string_view bytes) {
  for (;;) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    if (errno != EINTR) throw ConnectionLost{"cannot send: " + text_of(errno)};
  }
}

std::optional<std::size_t> Socket::receive(std::span<char> into) {
  for (;;) {
    const ssize_t got = recv(fd_, into.data(), into.size(), 0);
    if (got > 0) return static_cast<std::size_t>(got);
    if (got == 0) throw ConnectionLost{"the broker closed the connection without a word"};
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
    if (errno != EINTR) throw ConnectionLost{"cannot receive: " + text_of(errno)};
  }
}

bool Socket::wait(bool writable, Clock::time_point deadline) {
  return poll_one(fd_, static_cast<short>(writable ? POLLIN | POLLOUT : POLLIN), wake_, deadline);
}

bool sleep_until(Wake& wake, Clock::time_point deadline) {
  return poll_one(-1, 0, &wake, deadline);
}

}  // namespace remotist::amqp
