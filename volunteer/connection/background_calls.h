// Runs blocking calls on a pool of threads for a thread that must not block. Each call returns a completion,
// which the owner's thread runs in run_completions().
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "core/bounded_pool.h"

namespace remotist::volunteer {

class BackgroundCalls {
 public:
  using Completion = std::move_only_function<void()>;
  // Gets the index of the thread that runs it. Must not throw.
  using Call = std::move_only_function<Completion(std::size_t thread)>;

  // Throws std::runtime_error when the kernel has no descriptor left.
  BackgroundCalls(std::string name, std::size_t threads);
  // Discards calls that have not started, waits for the others, and discards their completions.
  ~BackgroundCalls();
  BackgroundCalls(const BackgroundCalls&) = delete;
  BackgroundCalls& operator=(const BackgroundCalls&) = delete;

  // The queue has no limit.
  void start(Call call);

  // Readable while a completion is waiting.
  int descriptor() const { return event_; }
  void run_completions();

  // Set by stop(); long calls check it.
  const std::atomic<bool>& stopping() const { return stopping_; }
  void stop() { stopping_ = true; }

 private:
  int event_;
  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  std::vector<Completion> completions_;
  BoundedPool pool_;  // last: its threads use the others
};

}  // namespace remotist::volunteer
