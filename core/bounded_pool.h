// A fixed number of threads with a bounded queue in front: work beyond the bound is refused, never stored.
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
  // A task learns which of the threads (0 … threads-1) runs it, so that threads can own things. It must not
  // throw.
  using Task = std::move_only_function<void(std::size_t thread)>;

  // Signals are blocked in the pool's threads; `name` (15 characters are kept) shows in ps and gdb.
  BoundedPool(std::string name, std::size_t threads, std::size_t queue_max);
  // Runs what is queued, then joins.
  ~BoundedPool();
  BoundedPool(const BoundedPool&) = delete;
  BoundedPool& operator=(const BoundedPool&) = delete;

  // False when queue_max tasks are waiting already or stop() was called; the task is then not run.
  // Thread-safe.
  [[nodiscard]] bool try_submit(Task task);

  // Refuses new tasks, runs what is queued, joins. Idempotent; not from a task.
  void stop();

  // Refuses new tasks and destroys the queued ones without running them; true when those that run have ended
  // within `patience`. stop() is still to be called.
  bool abandon(std::chrono::milliseconds patience);

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
