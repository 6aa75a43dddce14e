// A fixed number of threads, each with its own Connection, behind a bounded queue. Event loops submit
// blocking database work to it and never wait.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/bounded_pool.h"
#include "core/pg/connection.h"

namespace remotist::pg {

class Pool {
 public:
  // A task must handle its own exceptions.
  using Task = std::move_only_function<void(Connection&)>;

  Pool(std::string url, std::size_t connections, std::size_t queue_max, ConnectionOptions options = {});

  // False when the queue is full: the caller answers "busy". Thread-safe.
  [[nodiscard]] bool try_run(Task task);

  // Runs the queued tasks, then joins the threads. Idempotent.
  void stop() { threads_.stop(); }

  // Drops the queued tasks, interrupts the statements that still run after `timeout`, and joins the threads.
  void stop_now(std::chrono::milliseconds timeout);

  std::size_t queued() const { return threads_.queued(); }

 private:
  std::vector<Connection> connections_;  // declared before threads_, which are joined first
  BoundedPool threads_;
};

}  // namespace remotist::pg
