// A market and a worker of a test's own, with short leases, and the people around them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/protocol.h"
#include "tests/support/database.h"
#include "tests/support/own_market.h"

namespace remotist::test {

class DispatchStack {
 public:
  static constexpr std::int64_t kGrant = 100'000'000;
  // How often a machine must say that it is there; it is lost after three of these.
  static constexpr std::chrono::milliseconds kBeat{1000};
  static constexpr std::chrono::milliseconds kLease = 3 * kBeat;

  explicit DispatchStack(const std::map<std::string, std::string>& market_settings = {},
                         const std::map<std::string, std::string>& worker_settings = {});

  OwnMarket& market() const { return *market_; }
  OwnWorker& worker() const { return *worker_; }
  const std::string& socket_url() const { return market_->socket_url(); }

  // Accounts with kGrant each.
  const TestAccount& client() const { return client_; }
  TestAccount newcomer() const;

  struct Lent {
    std::int64_t cpu_cores = 1;
    std::int64_t ram_mb = 4096;
    std::int64_t disc_mb = 4096;
    std::int64_t price_micro_per_cpu_second = 0;
  };
  struct Machine {
    std::string id;
    std::string token;
    TestAccount owner;
  };
  // A machine of a new account.
  Machine lend(const Lent& lent) const;

  struct Wish {
    std::int64_t price = 1'000'000;  // micro-credits
    int cpu_cores = 1;
    int deadline_seconds = 0;  // none
    std::string code = "x <- 1";
    std::vector<std::string> watched{};
  };
  // Over REST. The job's id.
  std::string submit(const Wish& wish) const { return submit(wish, client_); }
  std::string submit(const Wish& wish, const TestAccount& account) const;
  // The HTTP status.
  int cancel(const std::string& job) const;

  nlohmann::json job(const std::string& id) const;
  std::string state_of(const std::string& id) const { return job(id)["state"]; }
  // The bytes of its one output file.
  std::string output_of(const std::string& id) const;
  // The status of a machine that brings a result over REST.
  int output_status(const std::string& id, const Machine& machine, const protocol::AttemptKey& attempt) const;
  std::int64_t balance_of(const TestAccount& account) const;
  // One number from the database.
  std::int64_t number(const std::string& query) const;
  void execute(const std::string& statement) const;

  // The ledger is balanced, no job has two live attempts, and every session has free what its attempts leave.
  void check() const;

 private:
  std::unique_ptr<OwnMarket> market_;
  std::unique_ptr<OwnWorker> worker_;
  TestAccount client_;
};

}  // namespace remotist::test
