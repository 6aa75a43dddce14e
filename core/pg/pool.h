// A fixed number of threads, each with its own Session, behind a bounded queue. The event loop hands blocking
// database work to it and never waits.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/bounded_pool.h"
#include "core/pg/session.h"

namespace remotist::pg {

class Pool {
 public:
  // A task must not throw: it owns its errors.
  using Task = std::move_only_function<void(Session&)>;

  Pool(std::string url, std::size_t connections, std::size_t queue_max, SessionOptions options = {});

  // False when the queue is full: the caller answers "busy". Thread-safe.
  [[nodiscard]] bool try_run(Task task);

  // Runs what is queued, then joins the threads. Idempotent.
  void stop() { threads_.stop(); }

  // Drops what is queued; statements that still run after `patience` are cut off. Joins.
  void stop_now(std::chrono::milliseconds patience);

  std::size_t queued() const { return threads_.queued(); }

 private:
  std::vector<Session> sessions_;  // before threads_: they are joined first
  BoundedPool threads_;
};

}  // namespace remotist::pg
