// co_await the next change of a job or of a watched variable, or a timeout; the coroutine resumes on its
// event loop.
//
//   if (!co_await await_change(context.long_poll, *job, timeout)) co_return refuse(…);  // too many wait
//   already
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "market/api/queue_in_loop.h"
#include "market/service/long_poll.h"
#include "market/store/jobs.h"

namespace remotist::market {

// What a request waits for: a change since `seen`.
struct AwaitedChange {
  AccountId account;
  JobId job;
  std::optional<std::string> variable;  // none: the job itself
  std::int64_t seen;                    // its version, or the variable's sequence
};

class ChangeAwaiter {
 public:
  ChangeAwaiter(LongPoll& long_poll, AwaitedChange awaited, std::chrono::seconds timeout)
      : long_poll_(long_poll), awaited_(std::move(awaited)), timeout_(timeout) {}

  bool await_ready() const noexcept { return false; }

  bool await_suspend(std::coroutine_handle<> coroutine) {
    // A change or the timer resumes it, whichever is first. Both run on this loop, so `waits` needs no lock.
    auto* const loop = trantor::EventLoop::getEventLoopOfCurrentThread();
    const auto waits = std::make_shared<bool>(true);
    const auto resume = [waits, coroutine] {
      if (!std::exchange(*waits, false)) return;
      coroutine.resume();
    };
    const auto timer = loop->runAfter(std::chrono::duration<double>{timeout_}.count(), resume);
    auto wake = [loop, timer, resume] {
      queue_in_loop(loop, [loop, timer, resume] {
        loop->invalidateTimer(timer);
        resume();
      });
    };
    const auto& [account, job, variable, seen] = awaited_;
    ticket_ = variable ? long_poll_.wait_for(account, job, *variable, seen, std::move(wake))
                       : long_poll_.wait_for(account, job, seen, std::move(wake));
    if (!ticket_) {
      *waits = false;
      loop->invalidateTimer(timer);
    }
    return ticket_.has_value();
  }

  bool await_resume() {
    if (ticket_) long_poll_.cancel(*ticket_);
    return ticket_.has_value();
  }

 private:
  LongPoll& long_poll_;
  const AwaitedChange awaited_;
  const std::chrono::seconds timeout_;
  std::optional<LongPoll::Ticket> ticket_;
};

inline ChangeAwaiter await_change(LongPoll& long_poll, const Job& seen, std::chrono::seconds timeout) {
  return ChangeAwaiter{long_poll, {seen.account, seen.id, std::nullopt, seen.version}, timeout};
}
inline ChangeAwaiter await_change(LongPoll& long_poll, AwaitedChange awaited, std::chrono::seconds timeout) {
  return ChangeAwaiter{long_poll, std::move(awaited), timeout};
}

}  // namespace remotist::market
