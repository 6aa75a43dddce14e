// A job with watched variables that runs on a machine which does as it is told, and the owner who reads.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "core/protocol.h"
#include "core/watched_record.h"
#include "tests/support/agent.h"
#include "tests/support/dispatch.h"
#include "tests/support/http.h"

namespace remotist::test {

// A value of one change, just now.
WatchedRecord value_of(std::string variable, std::int64_t number, std::string bytes);

class WatchedJob {
 public:
  // Runs when this returns.
  explicit WatchedJob(std::vector<std::string> variables = {"x", "fit$loss"},
                      const std::map<std::string, std::string>& market_settings = {});

  // Says them in one message of the machine's.
  void say(std::vector<WatchedRecord> records) {
    agent->say(protocol::WatchedRecords{attempt, std::move(records)});
  }
  void tell(std::vector<WatchedRecord> records) {
    say(std::move(records));
    agent->await_acknowledged();
  }
  // The machine connects again, and is told to keep its attempt.
  void reconnect();
  // The machine vanishes, and another one is given the job.
  void lose();

  static std::string path(const std::string& job, const std::string& rest = {}) {
    return "/job/" + job + "/partialResults/" + rest;
  }
  HttpAnswer get(const std::string& rest, const std::vector<std::string>& headers = {}) const;
  // A request on a connection of its own.
  std::future<HttpAnswer> held(const std::string& rest) const;
  // Every value of the variable's history, page after page.
  nlohmann::json history(const std::string& variable, const std::string& query = {}) const;
  // The bytes of one.
  static std::string bytes_in(const nlohmann::json& record);
  // A chunk uploaded by the machine for its attempt.
  std::string upload(std::string_view bytes) const;
  std::vector<std::string> machine_headers() const;

  DispatchStack stack;
  DispatchStack::Machine machine;
  std::unique_ptr<Agent> agent;
  std::string job;
  protocol::AttemptKey attempt;
};

}  // namespace remotist::test
