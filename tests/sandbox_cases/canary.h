// Objects of the host that a guest must not reach, and that detect when one did.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace remotist::volunteer::cases {

// A process that sleeps with every signal blocked, so that a signal stays pending and can be detected.
class CanaryProcess {
 public:
  CanaryProcess();
  ~CanaryProcess();
  CanaryProcess(const CanaryProcess&) = delete;
  CanaryProcess& operator=(const CanaryProcess&) = delete;

  pid_t pid() const { return pid_; }
  // What was done to it, or nothing.
  std::string harm() const;

 private:
  pid_t pid_;
};

// A socket that detects connections. Stream sockets listen; datagram sockets are bound.
class CanarySocket {
 public:
  static CanarySocket ipv4();
  static CanarySocket ipv6();  // valid() is false where the machine has no IPv6
  static CanarySocket udp(std::uint16_t port = 0);
  static CanarySocket file(const std::string& path);
  static CanarySocket abstract(const std::string& name);
  ~CanarySocket();
  CanarySocket(CanarySocket&& other) noexcept;
  CanarySocket& operator=(CanarySocket&&) = delete;

  bool valid() const { return fd_ >= 0; }
  std::uint16_t port() const;
  // Whether there was a connection or datagram since the last call.
  bool reached();
  // Answers a pending DNS request on a datagram socket: every name has the address 192.0.2.1.
  void answer_names() const;
  int descriptor() const { return fd_; }

 private:
  explicit CanarySocket(int fd, bool stream) : fd_{fd}, stream_{stream} {}
  static CanarySocket bound(int type, const void* address, std::size_t length);

  int fd_;
  bool stream_;
};

// A System V shared memory segment, readable by all.
class CanarySegment {
 public:
  CanarySegment();
  ~CanarySegment();
  CanarySegment(const CanarySegment&) = delete;
  CanarySegment& operator=(const CanarySegment&) = delete;

  key_t key() const { return key_; }

 private:
  key_t key_ = 0;
  int id_ = -1;
};

}  // namespace remotist::volunteer::cases
