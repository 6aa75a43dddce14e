// A TCP connection whose operations never block beyond a deadline. Private to wire.cc.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/amqp/wake.h"

namespace remotist::amqp {

using Clock = std::chrono::steady_clock;

class Socket {
 public:
  // Connects within the time, trying each address of the host. `wake` may be null, else must outlive the
  // socket. Throws ConnectionLost, also when stopped meanwhile. Looking the name up cannot be interrupted.
  Socket(const std::string& host, std::uint16_t port, Clock::time_point deadline, Wake* wake);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // How much the kernel took or gave; 0 from send() when its buffer is full, nothing from receive() when
  // there is nothing yet. Throws ConnectionLost. Never raises SIGPIPE.
  std::size_t send(std::string_view bytes);
  std::optional<std::size_t> receive(std::span<char> into);

  // Until the socket is readable (or writable, when asked for) or the deadline. False when woken or stopped.
  bool wait(bool writable, Clock::time_point deadline);

  // Ignores the wake from now on, so that a stopped owner can still close the connection.
  void forget_wake() { wake_ = nullptr; }

 private:
  int fd_ = -1;
  Wake* wake_;
};

// Until the deadline. False when woken or stopped.
bool sleep_until(Wake& wake, Clock::time_point deadline);

}  // namespace remotist::amqp
