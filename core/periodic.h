// A thread that does something now and then. What it throws is logged, and it tries again the next time.
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
  // Begins with a round. `name` stands in the log. A round that may take long looks at its stop token.
  using Round = std::function<void(const std::stop_token&)>;
  Periodic(std::string name, std::chrono::milliseconds interval, Round round);
  // Waits for a round that is under way.
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
  std::jthread thread_;  // last: it is joined before the rest goes
};

}  // namespace remotist
