// Sends the attempts that workers have begun to their machines. Their tokens are made and their rows are read
// on the database pool, with one statement for all attempts that were named while the statement before ran;
// each machine gets its assignments of a group in one message.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "core/pg/pool.h"
#include "core/protocol.h"
#include "market/service/metrics.h"
#include "market/service/volunteer.h"

namespace remotist::market {

class AssignmentSender {
 public:
  // Both must outlive this, and the pool's tasks must have ended before.
  AssignmentSender(pg::Pool& database, Metrics& metrics) : database_(database), metrics_(metrics) {}

  // A machine that is connected, with its session.
  struct Item {
    std::shared_ptr<Volunteer> volunteer;
    MachineSessionId machine_session;
    protocol::AttemptName name;
  };
  // Thread-safe; does not wait for the database. When the database is away or the pool is full, the machines'
  // sockets are closed: the answer to the next hello has their attempts.
  void send(std::vector<Item> items);

 private:
  // The next group, or none: then the task ends.
  std::vector<Item> take();
  void send_waiting(pg::Connection& db);
  void send_group(pg::Connection& db, const std::vector<Item>& group);

  pg::Pool& database_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::vector<Item> waiting_;
  bool running_ = false;  // a task of the pool sends what waits
};

}  // namespace remotist::market
