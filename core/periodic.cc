#include "core/periodic.h"

#include "core/log.h"
#include "core/threads.h"

namespace remotist {

Periodic::Periodic(std::string name, std::chrono::milliseconds interval, Round round)
    : name_(std::move(name)), interval_(interval), round_(std::move(round)) {
  const SignalsBlocked blocked;
  thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
}

void Periodic::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    try {
      round_(stop);
    } catch (const std::exception& fault) {
      log::warn("periodic_fault", {{"task", name_}, {"why", fault.what()}});
    }
    std::unique_lock lock{mutex_};
    wake_.wait_for(lock, stop, interval_, [] { return false; });
  }
}

}  // namespace remotist
