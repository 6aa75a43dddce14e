// co_await blocking work that runs on a pool's thread; the coroutine resumes on its event loop.
//
//   auto job = co_await on_pool(pool, [&](pg::Connection& db) { return view_job(db, token_hash, id); });
//
// Throws PoolFull when the pool's queue is full, and any exception of the work. The work may capture the
// coroutine's variables by reference, since the coroutine waits for it.
#pragma once

#include <atomic>
#include <coroutine>
#include <exception>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "core/pg/pool.h"
#include "market/api/queue_in_loop.h"
#include "market/service/password_pool.h"

namespace remotist::market {

struct PoolFull : std::runtime_error {
  PoolFull() : std::runtime_error("the queue is full") {}
};

namespace detail {

template <class Work>
auto submit(pg::Pool& pool, Work work) {
  return pool.try_run(std::move(work));
}
template <class Work>
auto submit(PasswordSlot& slot, Work work) {
  return slot.pool.try_submit(std::move(slot.slot),
                              [work = std::move(work)](std::size_t) mutable { work(); });
}

template <class PoolType, class Work, class T>
class OnPool {
 public:
  OnPool(PoolType& pool, Work work) : pool_(pool), work_(std::move(work)) {}

  bool await_ready() const noexcept { return false; }

  bool await_suspend(std::coroutine_handle<> coroutine) {
    auto* const loop = trantor::EventLoop::getEventLoopOfCurrentThread();
    // The coroutine resumes on this very thread, so it cannot be gone before this function returns.
    accepted_ = submit(pool_, [this, loop, coroutine](auto&... connection) {
      try {
        value_.emplace(work_(connection...));
      } catch (...) {
        fault_ = std::current_exception();
      }
      done_.store(true, std::memory_order_release);
      queue_in_loop(loop, [coroutine] { coroutine.resume(); });
    });
    return accepted_;
  }

  T await_resume() {
    if (!accepted_) throw PoolFull{};
    done_.wait(false, std::memory_order_acquire);  // never waits: the loop itself has ordered the two threads
    if (fault_) std::rethrow_exception(fault_);
    return std::move(*value_);
  }

 private:
  PoolType& pool_;
  Work work_;
  bool accepted_ = false;
  std::optional<T> value_;
  std::exception_ptr fault_;
  std::atomic<bool> done_ = false;
};

}  // namespace detail

template <class Work>
auto on_pool(pg::Pool& pool, Work work) {
  return detail::OnPool<pg::Pool, Work, std::invoke_result_t<Work&, pg::Connection&>>{pool, std::move(work)};
}
// Consumes the slot.
template <class Work>
auto on_pool(PasswordSlot& slot, Work work) {
  return detail::OnPool<PasswordSlot, Work, std::invoke_result_t<Work&>>{slot, std::move(work)};
}

}  // namespace remotist::market
