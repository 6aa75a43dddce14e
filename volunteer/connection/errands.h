// Work that blocks, done by other threads for the one thread that must not: an errand runs there, and what it
// returns runs back here.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "core/bounded_pool.h"

namespace remotist::volunteer {

class Errands {
 public:
  using Return = std::move_only_function<void()>;
  // Learns which of the threads runs it. Must not throw.
  using Errand = std::move_only_function<Return(std::size_t thread)>;

  // Throws std::runtime_error when the kernel has no descriptor left.
  Errands(std::string name, std::size_t threads);
  // Forgets errands that have not begun, waits for the others, and forgets what they return.
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  // Any number may wait.
  void run(Errand errand);

  // Readable while something has returned.
  int descriptor() const { return event_; }
  void take_returns();

  // Set by stop(), for errands to look at.
  const std::atomic<bool>& stopping() const { return stopping_; }
  void stop() { stopping_ = true; }

 private:
  int event_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::vector<Return> returned_;
  BoundedPool pool_;  // last: its threads use the others
};

}  // namespace remotist::volunteer
