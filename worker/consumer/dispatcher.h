// Assigns queued jobs to machines. One round locks some machine sessions with free capacity and the best
// queued jobs that fit them, computes a plan, commits it, and publishes the assignments to the markets.
// Thread-safe; calls run one at a time.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "core/amqp/publisher.h"
#include "core/pg/connection.h"
#include "core/queue_messages.h"
#include "core/store/outbox.h"
#include "worker/store/dispatch.h"

namespace remotist::worker {

// Adds the ids that a message of jobs.ready names; logs and ignores a malformed message.
void read_hint(std::string_view body, queue::Ready& into);

class Dispatcher {
 public:
  Dispatcher(const std::string& database_url, const std::string& amqp_url,
             std::chrono::seconds reserve_after);

  // Assigns jobs by these hints: the database decides whether there is anything to do. Throws pg::Fault.
  void dispatch(const queue::Ready& hints);
  // Assigns jobs whose message was lost, and reserves machines for overdue jobs. Also keeps the broker
  // connection alive: call it at least once per heartbeat.
  void scan();

  // Thread-safe. Ends waits for the broker; cannot be undone.
  void stop() noexcept { publisher_.stop(); }

 private:
  struct Round {
    std::vector<BegunAttempt> begun;
    std::vector<Reservation> reserved;
    store::OutboxClaim messages;
    bool more = false;  // another round with the same sessions may assign more
  };
  void fill(const std::vector<MachineSessionId>& sessions);
  Round round(const std::vector<MachineSessionId>& sessions);
  Round reserve(const OverdueJob& overdue);
  void apply_plan(const Snapshot& snapshot, Round& round);
  std::vector<AccountId> next_accounts(std::size_t at_most);
  // What the round has committed.
  void publish(const Round& round);
  void release(const std::vector<BegunAttempt>& begun, MarketId market);

  std::mutex mutex_;
  // Commits without waiting for the disc: an assignment that is lost in a crash of the database has not been
  // accepted, because acceptance is a later, durable commit.
  pg::Connection db_;
  amqp::Publisher publisher_;
  const std::chrono::seconds reserve_after_;
  AccountId turn_;  // the account that was served last: accounts are served round-robin
};

}  // namespace remotist::worker
