// Sends the attempts that workers have begun to their machines. Their tokens are made and their rows are read
// with one statement for all attempts that were named while the statement before ran; each machine gets its
// assignments of such a group in one message.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/pg/pool.h"
#include "core/protocol.h"
#include "market/service/metrics.h"
#include "market/service/volunteer.h"

namespace remotist::market {

class AssignmentSender {
 public:
  // `loss_mean`: mean time between losses of a machine, which each assignment tells.
  AssignmentSender(const std::string& database_url, std::chrono::milliseconds loss_mean, Metrics& metrics);

  // A machine that is connected, with its session.
  struct Item {
    std::shared_ptr<Volunteer> volunteer;
    MachineSessionId machine_session;
    protocol::AttemptName name;
  };
  // Thread-safe; does not wait for the database. When the database is away, the machines' sockets are closed:
  // the answer to the next hello has their attempts.
  void send(std::vector<Item> items);

 private:
  // The next group, or none: then the task ends.
  std::vector<Item> take();
  void send_waiting(pg::Connection& db);
  void send_group(pg::Connection& db, const std::vector<Item>& group);

  const std::chrono::milliseconds loss_mean_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::vector<Item> waiting_;
  bool running_ = false;  // a task of the pool sends what waits
  // Of its own, so that assignments do not wait behind REST requests: one connection, which commits without
  // waiting for the disk. A token that is lost in a crash of the database is of an attempt that has not been
  // accepted, because acceptance is a later, durable commit.
  pg::Pool database_;  // last member: joined before the others are destroyed
};

}  // namespace remotist::market
