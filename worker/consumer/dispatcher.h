// Brings jobs and machines together: one round takes what some sessions have free, asks the waiting room for
// the best jobs that fit, plans, writes the plan down and tells the markets. Thread-safe: one call at a time.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "core/amqp/publisher.h"
#include "core/pg/session.h"
#include "core/store/outbox.h"
#include "worker/store/dispatch.h"

namespace remotist::worker {

// What messages told of. Hints: whether there is anything to do is in the database.
struct Hints {
  std::vector<JobId> jobs;
  std::vector<SessionId> sessions;
};
// Adds what a message of jobs.ready names; one that cannot be read is logged and names nothing.
void read_hint(std::string_view body, Hints& into);

class Dispatcher {
 public:
  Dispatcher(const std::string& database_url, const std::string& amqp_url, std::chrono::seconds patience);

  // Places what can be placed. Throws pg::Fault.
  void look(const Hints& hints);
  // The same for offers and overdue jobs that no message told of. Also keeps the connection to the broker
  // alive: call it within every heartbeat.
  void look_around();

  // Any thread: ends waits for the broker, for good.
  void stop() noexcept { publisher_.stop(); }

 private:
  struct Round {
    std::vector<BegunAttempt> begun;
    store::OutboxClaim messages;
    bool more = false;  // another round with the same sessions may place more
  };
  void fill(const std::vector<SessionId>& sessions);
  Round round(const std::vector<SessionId>& sessions);
  Round reserve(const OverdueJob& overdue);
  void carry_out(const Snapshot& snapshot, Round& round);
  std::vector<AccountId> next_accounts(std::size_t at_most);
  void publish(const Round& round);
  void release(const std::vector<BegunAttempt>& begun, MarketId market);

  std::mutex mutex_;
  // Does not wait for the disk: an assignment that a crash of the database forgets was accepted by nobody,
  // because accepting is a later commit, and that one does.
  pg::Session db_;
  amqp::Publisher publisher_;
  const std::chrono::seconds patience_;
  AccountId turn_;  // the account that was served last
};

}  // namespace remotist::worker
