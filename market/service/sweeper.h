// Looks now and then for queued jobs that nobody has touched, and has them published again. Messages are
// hints: with this, losing all of them, or the whole broker, loses nothing but time. Run one in each market;
// they do not get in each other's way.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "core/pg/session.h"

namespace remotist::market {

class Sweeper {
 public:
  // A job is swept when it was `untouched` for so long. `published` is called when there is something for the
  // publisher.
  Sweeper(const std::string& database_url, std::chrono::milliseconds untouched,
          std::function<void()> published);
  ~Sweeper();
  Sweeper(const Sweeper&) = delete;
  Sweeper& operator=(const Sweeper&) = delete;

 private:
  void run(std::stop_token stop);
  void sweep_all();

  pg::Session db_;
  const std::chrono::milliseconds untouched_;
  const std::function<void()> published_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace remotist::market
