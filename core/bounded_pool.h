// A fixed number of threads behind a bounded queue. Tasks beyond the bound are refused.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace remotist {

class BoundedPool {
 public:
  // Gets the index of its thread (0 … threads - 1), so that each thread can own resources. Must not throw.
  using Task = std::move_only_function<void(std::size_t thread)>;

  // Signals are blocked in the pool's threads; `name` (15 characters are kept) shows in ps and gdb.
  BoundedPool(std::string name, std::size_t threads, std::size_t queue_max);
  // Runs the queued tasks, then joins.
  ~BoundedPool();
  BoundedPool(const BoundedPool&) = delete;
  BoundedPool& operator=(const BoundedPool&) = delete;

  // False when queue_max tasks are waiting already or stop() was called; the task is then not run.
  // Thread-safe.
  [[nodiscard]] bool try_submit(Task task);

  // Refuses new tasks, runs the queued ones, joins. Idempotent. Not to be called by a task.
  void stop();

  // Refuses new tasks and destroys the queued ones without running them; true when the running ones have
  // ended within `timeout`. stop() must still be called.
  bool abandon(std::chrono::milliseconds timeout);

  std::size_t queued() const;

 private:
  void run(std::size_t thread);

  const std::string name_;
  const std::size_t queue_max_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> queue_;
  bool stopping_ = false;
  std::size_t running_ = 0;
  std::condition_variable idle_;
  std::vector<std::thread> threads_;
};

}  // namespace remotist
