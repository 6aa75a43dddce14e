// Ends a thread's wait for the broker from another thread: once (nudge) or for good (stop).
#pragma once

#include <atomic>

namespace remotist::amqp {

class Wake {
 public:
  // Throws std::system_error when the process has no descriptor left.
  Wake();
  ~Wake();
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  // Both are thread-safe.
  void stop() noexcept;
  void nudge() noexcept;
  bool stopped() const noexcept { return stopped_.load(); }

  // For the waiting thread. True once for any number of nudges since the last call.
  bool consume_nudge() noexcept { return nudged_.exchange(false); }

  // For the waiting thread: becomes readable after stop() or nudge(); call drain() before the next poll.
  int fd() const noexcept { return fd_; }
  void drain() noexcept;

 private:
  void signal() noexcept;

  int fd_;
  std::atomic<bool> stopped_{false};
  std::atomic<bool> nudged_{false};
};

}  // namespace remotist::amqp
