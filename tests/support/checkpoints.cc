#include "tests/support/checkpoints.h"

#include <doctest/doctest.h>
#include <pqxx/pqxx>

#include "core/chunk.h"
#include "market/service/record_reports.h"

namespace remotist::test {

using nlohmann::json;

json manifest(int number, const std::vector<std::string>& chunks) {
  return {{"number", number},
          {"format", 3},
          {"r_version", "4.5.0"},
          {"architecture", "x86_64"},
          {"packages", json::array()},
          {"state_bytes", 300},
          {"size_bytes", 200},
          {"sent_bytes", 100},
          {"pause_ms", 12.5},
          {"interval_ms", 30'000},
          {"attempt_cpu_ms", 0},
          {"age_ms", 10},
          {"position", {{"file", "main.R"}, {"line", 12}, {"call", "fit"}}},
          {"chunks", chunks}};
}

CheckpointedJob::CheckpointedJob(const json& fields) {
  json body{{"name", "j"}, {"exec_file", "main.R"}, {"code", "1"}, {"submit", true}, {"price", 1}};
  body.update(fields);
  const auto made = http.send("PUT", "/job/", body, owner.token);
  REQUIRE_MESSAGE(made.status == 201, made.body);
  job = made.json()["id"];
  run();
}

void CheckpointedJob::run_on(const TestMachine& with) {
  machine = with;
  attempt = test::run_on(database_url(), job, machine);
  execute(
      "UPDATE attempt SET price_micro_per_cpu_second = 1000, accepted_at = now() - interval '1 hour' "
      "WHERE ended_at IS NULL AND job_id = '" +
      job + "'");
}

void CheckpointedJob::end(AttemptOutcome outcome) {
  pg::Connection db{database_url()};
  const auto recorded =
      market::record_reports(db, {{.machine = MachineId::parse(machine.id).value(),
                                   .attempt = {JobId::parse(job).value(), attempt.number},
                                   .token_hash = std::nullopt,
                                   .what = market::AttemptEnded{.outcome = outcome, .cpu_ms = 0}}});
  REQUIRE(recorded.front());
}

HttpAnswer CheckpointedJob::call(const std::string& method, const std::string& path,
                                 const std::string& body) {
  return http.call(method, path, body, {"Authorization: Bearer " + machine.token, attempt.header});
}

HttpAnswer CheckpointedJob::put_chunk(std::string_view bytes) {
  return call("PUT", "/blob/" + ChunkName::of(bytes).hex() + "?for=checkpoint", std::string{bytes});
}

std::string CheckpointedJob::upload(std::string_view bytes) {
  const auto answer = put_chunk(bytes);
  REQUIRE_MESSAGE(answer.status == 204, answer.body);
  return ChunkName::of(bytes).hex();
}

int CheckpointedJob::recorded(const json& manifest) {
  const auto answer = record(manifest);
  REQUIRE_MESSAGE(answer.status == 201, answer.body);
  return answer.json()["sequence"];
}

HttpAnswer CheckpointedJob::resume(int sequence, const json& skipped) {
  return call("POST", path("/resume"), json{{"sequence", sequence}, {"skipped", skipped}});
}

void CheckpointedJob::watch(const std::vector<int>& numbers) {
  for (const int each : numbers) {
    const auto answer =
        call("POST", path("/partialResults/x"),
             json{{"number", each}, {"changes", 1}, {"age_ms", 0}, {"kind", "value"}, {"base64", "eA=="}});
    REQUIRE_MESSAGE(answer.status == 204, answer.body);
  }
}

HttpAnswer CheckpointedJob::as_owner(const std::string& method, const std::string& rest, const json& body) {
  return method == "GET" ? http.get(path(rest), owner.token)
                         : http.send(method, path(rest), body, owner.token);
}

std::vector<int> CheckpointedJob::superseded() {
  std::vector<int> sequences;
  const auto history = as_owner("GET", "/partialResults/x/history?per_page=200").json();
  for (const auto& record : history["history"]) {
    if (record["superseded"].get<bool>()) sequences.push_back(record["sequence"]);
  }
  return sequences;
}

int CheckpointedJob::live() {
  return static_cast<int>(
      number("SELECT coalesce(max(live_sequence), 0) FROM watched_variable WHERE job_id = '" + job + "'"));
}

std::int64_t CheckpointedJob::number(const std::string& query) const {
  pqxx::connection connection{database_url()};
  return pqxx::nontransaction{connection}.query_value<std::int64_t>(query);
}

std::int64_t CheckpointedJob::balance_of(const std::string& account) const {
  return number("SELECT balance_micro FROM ledger_account WHERE account_id = '" + account + "'");
}

json CheckpointedJob::list(const HttpAnswer& answer) {
  REQUIRE_MESSAGE(answer.status == 200, answer.body);
  return answer.json()["checkpoints"];
}

}  // namespace remotist::test
