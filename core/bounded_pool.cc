#include "core/bounded_pool.h"

#include <pthread.h>
#include <utility>

#include "core/threads.h"

namespace remotist {

BoundedPool::BoundedPool(std::string name, std::size_t threads, std::size_t queue_max)
    : name_(std::move(name)), queue_max_(queue_max) {
  const SignalsBlocked blocked;
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this, i] { run(i); });
}

BoundedPool::~BoundedPool() {
  stop();
}

bool BoundedPool::try_submit(Task task) {
  {
    const std::lock_guard lock{mutex_};
    if (stopping_ || queue_.size() >= queue_max_) return false;
    queue_.push_back(std::move(task));
  }
  wake_.notify_one();
  return true;
}

void BoundedPool::stop() {
  {
    const std::lock_guard lock{mutex_};
    stopping_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

bool BoundedPool::abandon(std::chrono::milliseconds timeout) {
  std::deque<Task> dropped;  // destroyed outside the lock
  std::unique_lock lock{mutex_};
  stopping_ = true;
  dropped.swap(queue_);
  wake_.notify_all();
  return idle_.wait_for(lock, timeout, [this] { return running_ == 0; });
}

std::size_t BoundedPool::queued() const {
  const std::lock_guard lock{mutex_};
  return queue_.size();
}

void BoundedPool::run(std::size_t thread) {
  pthread_setname_np(pthread_self(), name_.substr(0, 15).c_str());
  for (;;) {
    Task task;
    {
      std::unique_lock lock{mutex_};
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      task = std::move(queue_.front());
      queue_.pop_front();
      ++running_;
    }
    task(thread);
    task = nullptr;
    const std::lock_guard lock{mutex_};
    if (--running_ == 0) idle_.notify_all();
  }
}

}  // namespace remotist
