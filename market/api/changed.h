// co_await the next change of a job, or of a watched variable, or the end of patience; goes on on the event
// loop it came from.
//
//   if (!co_await changed(context.job_watch, *job, patience)) co_return refuse(…);  // too many wait already
#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "market/api/hand_over.h"
#include "market/service/job_watch.h"
#include "market/store/jobs.h"

namespace remotist::market {

// What a request waits for.
struct Awaited {
  AccountId account;
  JobId job;
  std::optional<std::string> variable;  // none: the job itself
  std::int64_t seen;                    // its version, or the variable's sequence
};

class Changed {
 public:
  Changed(JobWatch& watch, Awaited awaited, std::chrono::seconds patience)
      : watch_(watch), awaited_(std::move(awaited)), patience_(patience) {}

  bool await_ready() const noexcept { return false; }

  bool await_suspend(std::coroutine_handle<> coroutine) {
    // Woken by a change or by the timer, whichever is first. Both end up on this loop, so `waits` needs no
    // lock.
    auto* const loop = trantor::EventLoop::getEventLoopOfCurrentThread();
    const auto waits = std::make_shared<bool>(true);
    const auto resume = [waits, coroutine] {
      if (!std::exchange(*waits, false)) return;
      coroutine.resume();
    };
    const auto timer = loop->runAfter(std::chrono::duration<double>{patience_}.count(), resume);
    auto wake = [loop, timer, resume] {
      hand_over(loop, [loop, timer, resume] {
        loop->invalidateTimer(timer);
        resume();
      });
    };
    const auto& [account, job, variable, seen] = awaited_;
    ticket_ = variable ? watch_.wait_for(account, job, *variable, seen, std::move(wake))
                       : watch_.wait_for(account, job, seen, std::move(wake));
    if (!ticket_) {
      *waits = false;
      loop->invalidateTimer(timer);
    }
    return ticket_.has_value();
  }

  bool await_resume() {
    if (ticket_) watch_.forget(*ticket_);
    return ticket_.has_value();
  }

 private:
  JobWatch& watch_;
  const Awaited awaited_;
  const std::chrono::seconds patience_;
  std::optional<JobWatch::Ticket> ticket_;
};

inline Changed changed(JobWatch& watch, const Job& seen, std::chrono::seconds patience) {
  return Changed{watch, {seen.account, seen.id, std::nullopt, seen.version}, patience};
}
inline Changed changed(JobWatch& watch, Awaited awaited, std::chrono::seconds patience) {
  return Changed{watch, std::move(awaited), patience};
}

}  // namespace remotist::market
