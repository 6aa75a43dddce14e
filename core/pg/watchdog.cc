#include "core/pg/watchdog.h"

#include <set>
#include <sys/socket.h>
#include <thread>

#include "core/log.h"
#include "core/threads.h"

namespace remotist::pg {

class Watchdog {
 public:
  // Never destroyed: sessions may outlive every static object.
  static Watchdog& instance() {
    static auto* const watchdog = new Watchdog;
    return *watchdog;
  }

  void add(Watched* watched) {
    const std::lock_guard lock{mutex_};
    all_.insert(watched);
  }
  void remove(Watched* watched) {
    const std::lock_guard lock{mutex_};
    all_.erase(watched);
  }

 private:
  Watchdog() {
    const SignalsBlocked blocked;
    std::thread{[this] {
      for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds{250});
        look();
      }
    }}.detach();
  }

  void look() {
    const std::lock_guard lock{mutex_};
    for (Watched* watched : all_) {
      const std::lock_guard one{watched->mutex_};
      if (!watched->waiting_ || watched->socket_ < 0 || Watched::Clock::now() < watched->until_) continue;
      log::error("database_silent", {{"action", "connection given up"}});
      shutdown(watched->socket_, SHUT_RDWR);
      watched->until_ = Watched::Clock::time_point::max();
    }
  }

  std::mutex mutex_;
  std::set<Watched*> all_;
};

Watched::Watched() {
  Watchdog::instance().add(this);
}
Watched::~Watched() {
  Watchdog::instance().remove(this);
}

void Watched::opened(int socket) {
  const std::lock_guard lock{mutex_};
  socket_ = socket;
}

void Watched::closed() {
  const std::lock_guard lock{mutex_};
  socket_ = -1;
}

void Watched::interrupt() {
  const std::lock_guard lock{mutex_};
  if (waiting_ && socket_ >= 0) shutdown(socket_, SHUT_RDWR);
}

Watched::Waiting::Waiting(Watched& watched, std::chrono::milliseconds most) : watched_(watched) {
  const std::lock_guard lock{watched_.mutex_};
  watched_.waiting_ = true;
  watched_.until_ = most.count() == 0 ? Clock::time_point::max() : Clock::now() + most;
}

Watched::Waiting::~Waiting() {
  const std::lock_guard lock{watched_.mutex_};
  watched_.waiting_ = false;
}

}  // namespace remotist::pg
