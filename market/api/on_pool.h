// co_await blocking work that runs on a pool's thread; the coroutine goes on on the event loop it came from.
//
//   auto job = co_await on_pool(pool, [&](pg::Session& db) { return view_job(db, token_hash, id); });
//
// Throws PoolFull when the pool's queue is full, and whatever the work throws. What the work captures by
// reference lives in the awaiting coroutine's frame, which waits for it.
#pragma once

#include <atomic>
#include <coroutine>
#include <exception>
#include <optional>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "core/pg/pool.h"
#include "market/api/hand_over.h"
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
auto submit(PasswordTurn& turn, Work work) {
  return turn.pool.try_submit(std::move(turn.turn),
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
    accepted_ = submit(pool_, [this, loop, coroutine](auto&... session) {
      try {
        value_.emplace(work_(session...));
      } catch (...) {
        fault_ = std::current_exception();
      }
      done_.store(true, std::memory_order_release);
      hand_over(loop, [coroutine] { coroutine.resume(); });
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
  return detail::OnPool<pg::Pool, Work, std::invoke_result_t<Work&, pg::Session&>>{pool, std::move(work)};
}
// Uses the turn up.
template <class Work>
auto on_pool(PasswordTurn& turn, Work work) {
  return detail::OnPool<PasswordTurn, Work, std::invoke_result_t<Work&>>{turn, std::move(work)};
}

}  // namespace remotist::market
