// What machines tell of watched variables, from their socket to the history that the owner reads.
#include <doctest/doctest.h>

#include "core/digest.h"
#include "core/limits.h"
#include "tests/support/eventually.h"
#include "tests/support/watched_job.h"

using namespace remotist;
using namespace std::chrono_literals;
using nlohmann::json;
using test::value_of;
using test::WatchedJob;

namespace {

std::vector<std::string> values_in(const json& history) {
  std::vector<std::string> values;
  for (const auto& record : history) values.push_back(WatchedJob::bytes_in(record));
  return values;
}

std::vector<int> sequences_in(const json& history) {
  std::vector<int> sequences;
  for (const auto& record : history) sequences.push_back(record["sequence"]);
  return sequences;
}

std::int64_t storage_of(const WatchedJob& job) {
  return job.stack.number("SELECT used_bytes FROM storage WHERE account_id = '" + job.stack.client().id +
                          "'");
}

}  // namespace

TEST_CASE("records come to their variables in order, each with its kind") {
  WatchedJob job;
  const std::string bytes{"\x00\xff value", 8};
  job.tell({value_of("x", 1, "one"),
            value_of("fit$loss", 1, bytes),
            {.variable = "x", .number = 2, .changes = 7, .age_ms = 0, .kind = WatchedKind::removed},
            {.variable = "x",
             .number = 5,
             .changes = 0,
             .age_ms = 0,
             .kind = WatchedKind::problem,
             .words = "a function"}});
  auto history = job.history("x");
  REQUIRE(history.size() == 3);
  CHECK(sequences_in(history) == std::vector{1, 2, 3});
  CHECK(history[0]["kind"] == "value");
  CHECK(WatchedJob::bytes_in(history[0]) == "one");
  CHECK(history[0]["size"] == 3);
  CHECK(history[0]["superseded"] == false);
  CHECK(history[1]["kind"] == "removed");
  CHECK(history[1]["changes"] == 7);
  CHECK_FALSE(history[1].contains("base64"));
  CHECK(history[2]["words"] == "a function");
  CHECK(history[2]["changes"] == 0);
  const auto newest = job.get("fit%24loss").json();
  CHECK(newest["variable"] == "fit$loss");
  CHECK(newest["sequence"] == 1);
  CHECK(WatchedJob::bytes_in(newest) == bytes);
  job.stack.check();
}

TEST_CASE("a repeated record changes nothing, whichever connection sends it") {
  WatchedJob job;
  job.tell({value_of("x", 1, "one"), value_of("x", 2, "two")});
  const auto before = storage_of(job);
  job.tell({value_of("x", 1, "other"), value_of("x", 2, "two"), value_of("x", 2, "two")});
  job.reconnect();
  job.tell({value_of("x", 2, "two")});
  CHECK(storage_of(job) == before);
  // What was left out stays out: its number has been passed.
  job.tell({value_of("x", 4, "four"), value_of("x", 4, "five")});
  job.tell({value_of("x", 3, "three")});
  CHECK(values_in(job.history("x")) == std::vector<std::string>{"one", "two", "four"});
  CHECK(sequences_in(job.history("x")) == std::vector{1, 2, 3});
}

TEST_CASE("a history is exact through reconnects and a market that is killed in its middle") {
  WatchedJob job{{"x"}};
  std::vector<std::string> expected;
  constexpr int kMessages = 60;
  constexpr int kRecords = 10;
  for (int message = 0; message < kMessages; ++message) {
    std::vector<WatchedRecord> records;
    for (int i = 0; i < kRecords; ++i) {
      expected.push_back("value " + std::to_string(expected.size()));
      records.push_back(value_of("x", static_cast<std::int64_t>(expected.size()), expected.back()));
    }
    job.say(records);
    // Not acknowledged, or perhaps committed all the same: it is told again.
    if (message == 20) {
      job.stack.market().kill();
      job.stack.market().start();
    }
    if (message == 20 || message == 40) {
      job.reconnect();
      job.say(records);
    }
    job.agent->await_acknowledged();
    if (message % 10 == 0) job.agent->beat({job.attempt});
  }
  const auto history = job.history("x");
  CHECK(values_in(history) == expected);
  CHECK(history.back()["sequence"] == kMessages * kRecords);
  for (std::size_t i = 1; i < history.size(); ++i) REQUIRE(history[i - 1]["at"] <= history[i]["at"]);
  job.stack.check();
}

TEST_CASE("an attempt that is not current records nothing and is sent a stop") {
  WatchedJob job;
  job.tell({value_of("x", 1, "one")});
  for (const auto& claim : {protocol::AttemptKey{job.attempt.name, "wrong"},
                            protocol::AttemptKey{{job.attempt.name.job, 2}, job.attempt.token},
                            protocol::AttemptKey{{JobId::make(), 1}, job.attempt.token}}) {
    job.agent->say(protocol::WatchedRecords{claim, {value_of("x", 2, "two")}});
    CHECK(job.agent->hear<protocol::Stop>().attempts.front() == claim.name);
  }
  // Another machine that has got hold of the token.
  test::Agent thief{job.stack.socket_url(), job.stack.lend({.ram_mb = 64}).token};
  thief.send_hello();
  thief.say(protocol::WatchedRecords{job.attempt, {value_of("x", 2, "two")}});
  CHECK(thief.hear<protocol::Stop>().reason == "stale_attempt");
  job.agent->complete(job.attempt);
  job.agent->await_acknowledged();
  job.say({value_of("x", 2, "two")});
  CHECK(job.agent->hear<protocol::Stop>().reason == "stale_attempt");
  CHECK(values_in(job.history("x")) == std::vector<std::string>{"one"});
  CHECK(job.get("x").json()["sequence"] == 1);
  job.stack.check();
}

TEST_CASE("records of a lost attempt are superseded, and the history goes on after them") {
  WatchedJob job;
  job.tell({value_of("x", 1, "one"), value_of("x", 2, "two")});
  const std::string at = job.get("x").json()["at"];
  job.lose();
  CHECK(job.attempt.name.number == 2);
  CHECK(job.get("x").code() == "not_found");
  auto history = job.history("x");
  REQUIRE(history.size() == 2);
  CHECK(history[0]["superseded"] == true);
  CHECK(history[1]["superseded"] == true);
  CHECK(job.get("x?at=" + at).json()["superseded"] == true);
  job.tell({value_of("x", 1, "again one")});
  history = job.history("x");
  CHECK(sequences_in(history) == std::vector{1, 2, 3});
  CHECK(history[1]["superseded"] == true);
  CHECK(history[2]["superseded"] == false);
  CHECK(WatchedJob::bytes_in(job.get("x").json()) == "again one");
  const auto listed = job.get("").json()["variables"];
  CHECK(listed[0]["sequence"] == 3);
  CHECK(listed[0]["records"] == 3);
  CHECK(listed[1] == json{{"variable", "fit$loss"}, {"records", 0}, {"sequence", nullptr}});
  job.stack.check();
}

TEST_CASE("when the last machine of a job is lost too, its records stay the newest") {
  WatchedJob job;
  job.stack.execute("UPDATE job SET losses = 4");
  job.tell({value_of("x", 1, "one")});
  REQUIRE(test::eventually([&] { return job.stack.state_of(job.job) == "failed"; }));
  CHECK(job.get("x").json()["superseded"] == false);
}

TEST_CASE("an invalid record is refused and changes nothing, and the machine goes on") {
  WatchedJob job;
  const auto code_of = [&](std::vector<WatchedRecord> records) {
    job.say(std::move(records));
    const auto problem = job.agent->hear<protocol::Problem>();
    CHECK(problem.attempt == job.attempt.name);
    return problem.code;
  };
  CHECK(code_of({value_of("x", 1, "one"), value_of("y", 1, "unwatched")}) == "invalid_field");
  const auto chunk = job.upload("some bytes");
  const auto large = [&](std::vector<std::string> chunks, std::int64_t size) {
    return WatchedRecord{
        .variable = "x", .number = 1, .changes = 1, .age_ms = 0, .size = size, .chunks = std::move(chunks)};
  };
  CHECK(code_of({large({chunk}, 9)}) == "invalid_field");
  CHECK(code_of({large({chunk, std::string(64, 'a')}, 10)}) == "chunks_missing");
  CHECK(job.history("x").empty());
  job.tell({large({chunk}, 10)});
  CHECK(job.get("x").json()["chunks"] == json{chunk});
  // A machine whose clock, or whose word, is wrong.
  job.tell({{.variable = "x",
             .number = limits::kRecordCountMax,
             .changes = 1,
             .age_ms = 1'000'000'000'000,
             .bytes = "old"}});
  const auto history = job.history("x");
  REQUIRE(history.size() == 2);
  CHECK(history[0]["at"] <= history[1]["at"]);
  job.stack.check();
}

TEST_CASE("a record that no machine may say ends its attempt, and nothing of the message is recorded") {
  const auto ends_attempt = [](const std::string& record) {
    WatchedJob job;
    job.agent->say_raw(R"({"type": "watched_records", "seq": 3, "job": ")" + job.job +
                       R"(", "attempt": 1, "token": ")" + job.attempt.token + R"(", "records": [)" + record +
                       "]}");
    const bool ended = test::eventually([&] {
      return job.stack.number("SELECT count(*) FROM job WHERE failure_code = 'unreportable'") == 1;
    });
    CHECK(job.stack.number("SELECT count(*) FROM watched_record") == 0);
    return ended;
  };
  const std::string head = R"({"variable": "x", "number": 1, "changes": 1, "age_ms": 0, "kind": "value", )";
  CHECK(ends_attempt(head + R"("base64": "eA="})"));
  CHECK(ends_attempt(head + R"("base64": ")" +
                     base64_of(std::string(limits::kRecordInlineBytesMax + 1, 'x')) + R"("})"));
  CHECK(
      ends_attempt(R"({"variable": "x\u0000", "number": 1, "changes": 1, "age_ms": 0, "kind": "removed"})"));
  CHECK(ends_attempt(R"({"variable": "x", "number": 0, "changes": 1, "age_ms": 0, "kind": "removed"})"));
}

TEST_CASE("records beyond an attempt's rate limit are refused, and accepted when sent again later") {
  WatchedJob job{{"x"}};
  constexpr auto kBurst = limits::kAttemptRecordsPerSecondMax * limits::kAttemptRecordsBurstSeconds;
  std::int64_t number = 0;
  const auto message = [&](std::int64_t records) {
    std::vector<WatchedRecord> all;
    for (std::int64_t i = 1; i <= records; ++i) all.push_back(value_of("x", number + i, ""));
    return all;
  };
  std::optional<protocol::Problem> problem;
  constexpr std::int64_t kEach = limits::kRecordsInMessageMax;
  while (!problem && number < 3 * kBurst) {
    job.tell(message(kEach));
    problem = job.agent->hear_if<protocol::Problem>(0ms);
    if (!problem) number += kEach;
  }
  REQUIRE(problem);
  CHECK(problem->code == "rate_limited");
  CHECK(number >= kBurst - kEach);
  REQUIRE(job.agent->beats_until({job.attempt}, [&] {
    job.tell(message(kEach));
    return !job.agent->hear_if<protocol::Problem>(0ms);
  }));
  CHECK(job.stack.number("SELECT count(*) FROM watched_record") == number + kEach);
  CHECK(job.stack.number("SELECT max(sequence) FROM watched_record") == number + kEach);
}

TEST_CASE("a history at its limit is whole, and one record more thins its older half") {
  WatchedJob job{{"x"}, {{"BEAT_MS", "20000"}}};
  job.tell({value_of("x", 1, "first")});
  // As many machines' messages would have made it.
  job.stack.execute(
      "INSERT INTO watched_record (job_id, variable, sequence, attempt_number, number, changes, changed_at, "
      "kind, "
      "size_bytes, inline_bytes) SELECT job_id, variable, s, 1, s, 2, changed_at, 'value', 1, 'v' FROM "
      "watched_record, "
      "generate_series(2, " +
      std::to_string(limits::kHistoryRecordsMax - 1) + ") s");
  job.stack.execute(
      "UPDATE watched_variable SET newest_sequence = " + std::to_string(limits::kHistoryRecordsMax - 1) +
      ", newest_number = newest_sequence, records = " + std::to_string(limits::kHistoryRecordsMax - 1) +
      ", bytes = (SELECT sum(watched_record_charge(size_bytes)) FROM watched_record)");
  job.stack.execute("UPDATE watched_variable SET newest_number = newest_sequence");
  const auto records = [&] { return job.stack.number("SELECT count(*) FROM watched_record"); };
  const auto changes = [&] { return job.stack.number("SELECT sum(changes) FROM watched_record"); };
  job.tell({value_of("x", limits::kHistoryRecordsMax, "at the limit")});
  CHECK(records() == limits::kHistoryRecordsMax);
  CHECK(job.stack.number("SELECT count(*) FROM watched_record WHERE thinned") == 0);
  const auto before = changes();
  job.tell({value_of("x", limits::kHistoryRecordsMax + 1, "past it")});
  CHECK(records() == limits::kHistoryRecordsMax + 1 - (limits::kHistoryRecordsMax + 2) / 4);
  CHECK(changes() == before + 1);
  CHECK(job.stack.number("SELECT records FROM watched_variable") == records());
  CHECK(job.stack.number("SELECT bytes FROM watched_variable") ==
        job.stack.number("SELECT sum(watched_record_charge(size_bytes)) FROM watched_record"));
  CHECK(storage_of(job) >= job.stack.number("SELECT bytes FROM watched_variable"));
  CHECK(WatchedJob::bytes_in(job.get("x").json()) == "past it");
  const auto oldest = job.get("x/history?per_page=2").json()["history"];
  CHECK(sequences_in(oldest) == std::vector{2, 4});
  CHECK(oldest[0]["thinned"] == true);
  CHECK(oldest[0]["changes"] == 3);
  CHECK(job.get("x/history?from=" + std::to_string(limits::kHistoryRecordsMax / 2 + 3) + "&per_page=1")
            .json()["history"][0]["thinned"] == false);
  job.stack.check();
}

TEST_CASE("a history with too many bytes is thinned down to the newest values, which stay") {
  WatchedJob job;
  job.tell({value_of("x", 1, "one"), value_of("x", 2, "two"), value_of("fit$loss", 1, "small")});
  job.stack.execute("UPDATE storage SET quota_bytes = quota_bytes * 10");
  job.stack.execute("UPDATE watched_variable SET bytes = bytes + " +
                    std::to_string(limits::kHistoryBytesMax) + " WHERE variable = 'x'");
  job.tell({value_of("x", 3, "three")});
  CHECK(values_in(job.history("x")) == std::vector<std::string>{"three"});
  CHECK(job.get("x").json()["changes"] == 3);
  CHECK(values_in(job.history("fit%24loss")) == std::vector<std::string>{"small"});
}

TEST_CASE(
    "in a full storage a job's own history makes room, and what cannot fit is refused while the job goes "
    "on") {
  WatchedJob job{{"x"}};
  for (int i = 1; i <= 20; ++i) job.tell({value_of("x", i, std::string(1000, 'v'))});
  job.stack.execute("UPDATE storage SET quota_bytes = used_bytes WHERE account_id = '" +
                    job.stack.client().id + "'");
  job.tell({value_of("x", 21, std::string(1000, 'w'))});
  CHECK(WatchedJob::bytes_in(job.get("x").json()) == std::string(1000, 'w'));
  CHECK(job.history("x").size() < 20);
  const auto held = job.history("x");
  job.say({value_of("x", 22, std::string(limits::kRecordInlineBytesMax, 'w'))});
  CHECK(job.agent->hear<protocol::Problem>().code == "quota_exceeded");
  CHECK(job.history("x") == held);
  job.agent->complete(job.attempt);
  job.agent->await_acknowledged();
  CHECK(job.stack.state_of(job.job) == "completed");
}

TEST_CASE("deleting a job deletes its history and gives its storage back") {
  WatchedJob job;
  const auto before = storage_of(job);
  job.tell({value_of("x", 1, "one"), value_of("fit$loss", 1, "two")});
  CHECK(storage_of(job) == before + 2 * (256 + 3));
  job.agent->complete(job.attempt);
  job.agent->await_acknowledged();
  CHECK(job.get("x").status == 200);
  test::Http http{job.stack.market().url()};
  CHECK(http.call("DELETE", "/job/" + job.job, {}, {"Authorization: Bearer " + job.stack.client().token})
            .status == 204);
  CHECK(job.stack.number("SELECT count(*) FROM watched_record") == 0);
  CHECK(job.stack.number("SELECT count(*) FROM watched_variable") == 0);
  CHECK(job.get("x").code() == "not_found");
  CHECK(storage_of(job) < before);  // its code is gone too
}
