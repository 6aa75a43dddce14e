// A job with checkpoints on a market of a test's own, without a worker: the test itself assigns the job to
// machines and ends its attempts. Fails the test case when a step is refused that should not be.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/attempt_outcome.h"
#include "core/json.h"
#include "tests/support/database.h"
#include "tests/support/http.h"
#include "tests/support/own_market.h"
#include "tests/support/volunteers.h"

namespace remotist::test {

// What a machine with R 4.5.0 on x86_64 says of its checkpoint with these chunks.
nlohmann::json manifest(int number, const std::vector<std::string>& chunks);

class CheckpointedJob {
 public:
  // Fields for the job beside those that it needs. Its price is a credit. Runs on a machine of a new account
  // when this returns.
  explicit CheckpointedJob(const nlohmann::json& fields = nlohmann::json::object());

  // The job, which is queued, runs on a machine from now on, its next attempt, and has for an hour. The
  // machine's price is 1000 micro-credits for a CPU second.
  void run_on(const TestMachine& with);
  // On a machine of a new account.
  void run() {
    lender = make_account(database_url(), 0);
    run_on(make_machine(database_url(), lender));
  }
  // The attempt ends.
  void end(AttemptOutcome outcome);

  // As the machine of the newest attempt.
  HttpAnswer call(const std::string& method, const std::string& path, const std::string& body = {});
  HttpAnswer call(const std::string& method, const std::string& path, const nlohmann::json& body) {
    return call(method, path, body.dump());
  }
  HttpAnswer put_chunk(std::string_view bytes);
  // The chunk's name.
  std::string upload(std::string_view bytes);
  HttpAnswer record(const nlohmann::json& manifest) { return call("POST", path("/checkpoint"), manifest); }
  // Its sequence.
  int recorded(const nlohmann::json& manifest);
  HttpAnswer resume(int sequence, const nlohmann::json& skipped = nlohmann::json::array());
  // Records of the job's variable x, with these numbers.
  void watch(const std::vector<int>& numbers);
  // The checkpoints from which it may go on, newest first.
  nlohmann::json usable() { return list(call("GET", path("/checkpoint"))); }

  // As the job's owner.
  HttpAnswer as_owner(const std::string& method, const std::string& rest,
                      const nlohmann::json& body = nlohmann::json::object());
  nlohmann::json kept() { return list(as_owner("GET", "/checkpoint")); }
  nlohmann::json attempts() { return as_owner("GET", "/attempts").json()["attempts"]; }
  nlohmann::json shown() { return as_owner("GET", "").json(); }
  // Sequences of the records of x that are superseded, and the one that is the newest value (0: none).
  std::vector<int> superseded();
  int live();

  std::string path(const std::string& rest) const { return "/job/" + job + rest; }
  const std::string& database_url() const { return market.database_url(); }
  std::int64_t number(const std::string& query) const;
  void execute(const std::string& statement) const { test::execute(database_url(), statement); }
  std::int64_t balance_of(const std::string& account) const;

  OwnMarket market;
  Http http{market.url()};
  TestAccount owner = make_account(database_url(), 100'000'000);
  std::string job;
  TestAccount lender;   // of the machine of the last run()
  TestMachine machine;  // of the newest attempt
  TestAttempt attempt{};

 private:
  static nlohmann::json list(const HttpAnswer& answer);
};

}  // namespace remotist::test
