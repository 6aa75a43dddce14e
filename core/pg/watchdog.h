// Ends waits for a PostgreSQL server that no longer answers.
//
// PostgreSQL's statement_timeout is kept by the server, and keepalives only see its kernel: a server that is
// frozen, or cut off behind a live proxy, would hold a thread for ever. One thread of this process checks
// four times a second and shuts down each socket that has been waited on for too long; libpq then reports a
// lost connection to the waiting thread.
#pragma once

#include <chrono>
#include <mutex>

namespace remotist::pg {

// The socket of one connection. Only the connection's thread may call its functions, except interrupt().
class GuardedSocket {
 public:
  GuardedSocket();
  ~GuardedSocket();
  GuardedSocket(const GuardedSocket&) = delete;
  GuardedSocket& operator=(const GuardedSocket&) = delete;

  // Between the two, `socket` may be shut down by the watchdog.
  void opened(int socket);
  void closed();

  // While it lives, the connection's thread waits for an answer, for at most `most`; zero: no limit.
  class Waiting {
   public:
    Waiting(GuardedSocket& socket, std::chrono::milliseconds most);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    GuardedSocket& socket_;
  };

  // Thread-safe. Shuts the socket down if the connection's thread is waiting for an answer.
  void interrupt();

 private:
  friend class Watchdog;
  using Clock = std::chrono::steady_clock;

  std::mutex mutex_;
  int socket_ = -1;
  bool waiting_ = false;
  Clock::time_point until_ = Clock::time_point::max();
};

}  // namespace remotist::pg
