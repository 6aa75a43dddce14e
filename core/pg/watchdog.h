// Ends waits for a database that no longer answers.
//
// PostgreSQL's statement_timeout is kept by the server, and keepalives only see its kernel: a server that is
// frozen, or cut off behind a live proxy, would hold a thread for ever. One thread of this process looks four
// times a second and shuts the socket of whatever has waited longer than it may; libpq then reports a lost
// connection in the thread that waits.
#pragma once

#include <chrono>
#include <mutex>

namespace remotist::pg {

// One connection under watch. The owner's thread calls everything but interrupt().
class Watched {
 public:
  Watched();
  ~Watched();
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  // Between the two, `socket` may be shut down by the watchdog.
  void opened(int socket);
  void closed();

  // While it lives, the owner waits for an answer; `most` of zero: as long as it takes.
  class Waiting {
   public:
    Waiting(Watched& watched, std::chrono::milliseconds most);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    Watched& watched_;
  };

  // Any thread: if the owner waits for an answer now, it will not get it.
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
