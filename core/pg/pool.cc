#include "core/pg/pool.h"

namespace remotist::pg {
namespace {

std::vector<Session> make_sessions(const std::string& url, std::size_t connections, SessionOptions options) {
  std::vector<Session> sessions;
  sessions.reserve(connections);
  for (std::size_t i = 0; i < connections; ++i) sessions.emplace_back(url, options);
  return sessions;
}

}  // namespace

Pool::Pool(std::string url, std::size_t connections, std::size_t queue_max, SessionOptions options)
    : sessions_(make_sessions(url, connections, options)), threads_("pg", connections, queue_max) {}

void Pool::stop_now(std::chrono::milliseconds patience) {
  // A task may go on to another statement after one was cut off: cut until none runs.
  for (; !threads_.abandon(patience); patience = std::chrono::milliseconds{100}) {
    for (Session& session : sessions_) session.interrupt();
  }
  threads_.stop();
}

bool Pool::try_run(Task task) {
  return threads_.try_submit(
      [this, task = std::move(task)](std::size_t thread) mutable { task(sessions_[thread]); });
}

}  // namespace remotist::pg
