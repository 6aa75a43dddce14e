#include "core/pg/watchdog.h"

#include <set>
#include <sys/socket.h>
#include <thread>

#include "core/log.h"
#include "core/threads.h"

namespace remotist::pg {

class Watchdog {
 public:
  // Never destroyed, because connections may outlive every static object.
  static Watchdog& instance() {
    static auto* const watchdog = new Watchdog;
    return *watchdog;
  }

  void add(GuardedSocket* guarded) {
    const std::lock_guard lock{mutex_};
    all_.insert(guarded);
  }
  void remove(GuardedSocket* guarded) {
    const std::lock_guard lock{mutex_};
    all_.erase(guarded);
  }

 private:
  Watchdog() {
    const SignalsBlocked blocked;
    std::thread{[this] {
      for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds{250});
        shut_down_overdue();
      }
    }}.detach();
  }

  void shut_down_overdue() {
    const std::lock_guard lock{mutex_};
    for (GuardedSocket* guarded : all_) {
      const std::lock_guard one{guarded->mutex_};
      if (!guarded->waiting_ || guarded->socket_ < 0 || GuardedSocket::Clock::now() < guarded->until_)
        continue;
      log::error("database_silent", {{"action", "connection given up"}});
      shutdown(guarded->socket_, SHUT_RDWR);
      guarded->until_ = GuardedSocket::Clock::time_point::max();
    }
  }

  std::mutex mutex_;
  std::set<GuardedSocket*> all_;
};

GuardedSocket::GuardedSocket() {
  Watchdog::instance().add(this);
}
GuardedSocket::~GuardedSocket() {
  Watchdog::instance().remove(this);
}

void GuardedSocket::opened(int socket) {
  const std::lock_guard lock{mutex_};
  socket_ = socket;
}

void GuardedSocket::closed() {
  const std::lock_guard lock{mutex_};
  socket_ = -1;
}

void GuardedSocket::interrupt() {
  const std::lock_guard lock{mutex_};
  if (waiting_ && socket_ >= 0) shutdown(socket_, SHUT_RDWR);
}

GuardedSocket::Waiting::Waiting(GuardedSocket& socket, std::chrono::milliseconds most) : socket_(socket) {
  const std::lock_guard lock{socket_.mutex_};
  socket_.waiting_ = true;
  socket_.until_ = most.count() == 0 ? Clock::time_point::max() : Clock::now() + most;
}

GuardedSocket::Waiting::~Waiting() {
  const std::lock_guard lock{socket_.mutex_};
  socket_.waiting_ = false;
}

}  // namespace remotist::pg
