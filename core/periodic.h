// A thread that runs a function at an interval. An exception is logged, and the function runs again after the
// interval.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace remotist {

class Periodic {
 public:
  // The first round starts at once. `name` is for the log. A round that may take long must check its stop
  // token.
  using Round = std::function<void(const std::stop_token&)>;
  Periodic(std::string name, std::chrono::milliseconds interval, Round round);
  // Waits for the current round.
  ~Periodic() = default;
  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;

 private:
  void run(const std::stop_token& stop);

  const std::string name_;
  const std::chrono::milliseconds interval_;
  const Round round_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last member: joined before the others are destroyed
};

}  // namespace remotist
