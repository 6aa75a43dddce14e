#include "core/pg/pool.h"

namespace remotist::pg {
namespace {

std::vector<Connection> make_connections(const std::string& url, std::size_t count,
                                         ConnectionOptions options) {
  std::vector<Connection> connections;
  connections.reserve(count);
  for (std::size_t i = 0; i < count; ++i) connections.emplace_back(url, options);
  return connections;
}

}  // namespace

Pool::Pool(std::string url, std::size_t connections, std::size_t queue_max, ConnectionOptions options)
    : connections_(make_connections(url, connections, options)), threads_("pg", connections, queue_max) {}

void Pool::stop_now(std::chrono::milliseconds timeout) {
  // A task may run another statement after an interrupted one: interrupt until no task runs.
  for (; !threads_.abandon(timeout); timeout = std::chrono::milliseconds{100}) {
    for (Connection& connection : connections_) connection.interrupt();
  }
  threads_.stop();
}

bool Pool::try_run(Task task) {
  return threads_.try_submit(
      [this, task = std::move(task)](std::size_t thread) mutable { task(connections_[thread]); });
}

}  // namespace remotist::pg
