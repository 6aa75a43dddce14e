// What a machine says of an attempt and the market cannot accept ends that attempt, and nothing else.
#include <doctest/doctest.h>
#include <functional>

#include "core/limits.h"
#include "tests/support/agent.h"
#include "tests/support/dispatch.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"
#include "tests/support/watched_job.h"

using namespace remotist;
using namespace std::chrono_literals;
using namespace std::string_literals;
using protocol::AttemptKey;
using protocol::FromAgent;
using test::Agent;
using test::DispatchStack;

namespace {

protocol::Outcome with_files(const AttemptKey& attempt, std::vector<protocol::OutcomeFile> files) {
  return {.attempt = attempt, .kind = AttemptOutcome::completed, .cpu_ms = 1, .files = std::move(files)};
}

protocol::WatchedRecords with_record(const AttemptKey& attempt,
                                     const std::function<void(WatchedRecord&)>& change) {
  auto record = test::value_of("x", 1, "value");
  change(record);
  return {attempt, {record}};
}

struct Malformed {
  std::string name;
  std::function<FromAgent(const AttemptKey&)> message;
};

const std::vector<Malformed> kMalformed{
    {"a zero byte in an error message",
     [](const AttemptKey& attempt) {
       return protocol::Outcome{.attempt = attempt,
                                .kind = AttemptOutcome::failed,
                                .cpu_ms = 1,
                                .failure_code = FailureCode::r_error,
                                .failure_detail = "no \0"s};
     }},
    {"a zero byte in progress",
     [](const AttemptKey& attempt) { return protocol::Progress{attempt, 0.5, "half \0"s}; }},
    {"progress past its end",
     [](const AttemptKey& attempt) { return protocol::Progress{attempt, 1.5, "more"}; }},
    {"a record from another century",
     [](const AttemptKey& attempt) {
       return with_record(attempt,
                          [](WatchedRecord& record) { record.age_ms = limits::kRecordAgeMsMax + 1; });
     }},
    {"a record of too many changes",
     [](const AttemptKey& attempt) {
       return with_record(attempt,
                          [](WatchedRecord& record) { record.changes = limits::kRecordCountMax + 1; });
     }},
    {"a path out of the folder",
     [](const AttemptKey& attempt) { return with_files(attempt, {{"output", "../../etc/passwd", "x"}}); }},
    {"a backslash in a path",
     [](const AttemptKey& attempt) { return with_files(attempt, {{"files", "a\\b", "x"}}); }},
    {"a line break in a path",
     [](const AttemptKey& attempt) { return with_files(attempt, {{"files", "a\nb", "x"}}); }},
    {"a path twice",
     [](const AttemptKey& attempt) {
       return with_files(attempt, {{"files", "a", "x"}, {"files", "a", "y"}});
     }},
    {"a file that is a folder, too",
     [](const AttemptKey& attempt) {
       return with_files(attempt, {{"files", "a", "x"}, {"files", "a/b", "y"}});
     }},
    {"a failure code that only the market decides",
     [](const AttemptKey& attempt) {
       return protocol::Outcome{.attempt = attempt,
                                .kind = AttemptOutcome::failed,
                                .cpu_ms = 1,
                                .failure_code = FailureCode::lost_too_often};
     }},
    {"an outcome that only the market decides",
     [](const AttemptKey& attempt) {
       return protocol::Outcome{.attempt = attempt, .kind = AttemptOutcome::expired, .cpu_ms = 1};
     }},
    {"CPU time of centuries",
     [](const AttemptKey& attempt) {
       return protocol::Outcome{.attempt = attempt, .kind = AttemptOutcome::completed, .cpu_ms = 1LL << 60};
     }},
};

}  // namespace

TEST_CASE("content that the market does not accept ends its attempt; the machine's other jobs go on") {
  const DispatchStack stack{{{"BEAT_MS", "60000"}}};  // it has no time to beat
  Agent agent{stack.socket_url(), stack.lend({.cpu_cores = 2}).token};
  agent.send_hello();
  const auto other = stack.submit({});
  const auto beside = agent.take_job();
  for (const auto& each : kMalformed) {
    CAPTURE(each.name);
    const auto job = stack.submit({.watched = {"x"}});
    const auto assignment = agent.take_job();
    agent.say(each.message(assignment.attempt));
    const auto problem = agent.hear<protocol::Problem>();
    CHECK(problem.code == "invalid_field");
    CHECK(problem.attempt == assignment.attempt.name);
    const auto stop = agent.hear<protocol::Stop>();
    CHECK(stop.reason == "unreportable");
    CHECK(stop.attempts == std::vector{assignment.attempt.name});
    agent.await_acknowledged();
    const auto shown = stack.job(job);
    CHECK(shown["state"] == "failed");
    CHECK(shown["failure_code"] == "unreportable");
    CHECK(shown["failure_detail"].get<std::string>().contains("does not accept"));
  }
  CHECK(stack.state_of(other) == "running");
  agent.complete(beside.attempt);
  agent.await_acknowledged();
  CHECK(stack.state_of(other) == "completed");
  stack.check();
}

TEST_CASE("malformed content with another token than the attempt's ends nothing") {
  const DispatchStack stack;
  Agent agent{stack.socket_url(), stack.lend({}).token};
  agent.send_hello();
  const auto job = stack.submit({});
  const auto assignment = agent.take_job();
  agent.say(kMalformed.front().message({assignment.attempt.name, assignment.attempt.token + "x"}));
  CHECK(agent.hear<protocol::Stop>().reason == "stale_attempt");
  agent.await_acknowledged();
  CHECK(stack.state_of(job) == "running");

  Agent stranger{stack.socket_url(), stack.lend({}).token};
  stranger.send_hello();
  stranger.say(kMalformed.front().message(assignment.attempt));
  CHECK(stranger.hear<protocol::Stop>().reason == "stale_attempt");
  CHECK(stack.state_of(job) == "running");
  stack.check();
}

TEST_CASE("an attempt that ends as unreportable is paid for its CPU time, within the market's own clock") {
  const DispatchStack stack;
  const auto machine = stack.lend({.price_micro_per_cpu_second = 1000});
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  const auto paid = [&](std::int64_t cpu_ms) {
    const auto job = stack.submit({.price = 1'000'000});
    const auto assignment = agent.take_job();
    stack.execute(
        "UPDATE attempt SET accepted_at = now() - interval '10 seconds', assigned_at = now() - interval '11 "
        "seconds'");
    auto outcome = std::get<protocol::Outcome>(kMalformed.front().message(assignment.attempt));
    outcome.cpu_ms = cpu_ms;
    agent.say(outcome);
    agent.hear<protocol::Stop>();
    agent.await_acknowledged();
    return stack.number("SELECT paid_micro FROM attempt WHERE job_id = '" + job + "'");
  };
  CHECK(paid(5000) == 5000);
  CHECK(paid(500'000'000) >= 10'000);
  CHECK(paid(500'000'000) < 100'000);
  stack.check();
}

TEST_CASE("what an attempt brings with its outcome must fit what it brought over REST") {
  const DispatchStack stack;
  const auto machine = stack.lend({});
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  const auto job = stack.submit({});
  const auto attempt = agent.take_job().attempt;
  test::Http http{stack.market().url()};
  const std::vector<std::string> headers{"Authorization: Bearer " + machine.token,
                                         "Remotist-Attempt: " + job + " 1 " + attempt.token,
                                         "Content-Type: application/json"};
  const auto bring = [&](const std::string& path) {
    return http.call("POST", "/job/" + job + "/files",
                     nlohmann::json{{"files", {{{"path", path}, {"text", "x"}}}}}.dump(), headers);
  };
  CHECK(bring("a/b").status == 204);
  CHECK(bring("a").json()["field"] == "path");
  CHECK(bring("a/b/c").json()["field"] == "path");
  CHECK(bring("a\\b").json()["field"] == "path");
  agent.say(with_files(attempt, {{"files", "a", "x"}}));
  CHECK(agent.hear<protocol::Problem>().code == "invalid_field");
  agent.await_acknowledged();
  CHECK(stack.state_of(job) == "running");
  agent.say(with_files(attempt, {{"files", "a/c", "x"}}));
  agent.await_acknowledged();
  CHECK(stack.state_of(job) == "completed");
}

TEST_CASE("a job that machines give back again and again fails; machines that leave do not count") {
  const DispatchStack stack;
  const auto job = stack.submit({});
  const auto hand_back = [&](bool leaves) {
    Agent agent{stack.socket_url(), stack.lend({}).token};
    agent.send_hello();
    const auto attempt = agent.take_job().attempt;
    if (leaves) {
      agent.say(protocol::Goodbye{"bye", {attempt}});
    } else {
      agent.say(protocol::Outcome{.attempt = attempt, .kind = AttemptOutcome::handed_back});
      agent.await_acknowledged();
      agent.say(protocol::Goodbye{"bye", {}});
    }
    agent.await_acknowledged();
  };
  hand_back(false);
  CHECK(stack.number("SELECT hand_backs FROM job") == 1);
  stack.execute("UPDATE job SET hand_backs = " + std::to_string(limits::kHandBacksMax - 2));
  hand_back(true);
  hand_back(false);
  CHECK(stack.state_of(job) == "queued");
  hand_back(true);
  CHECK(stack.state_of(job) == "queued");
  // Nor does a loss in between begin the count anew: a job that is lost and given back by turns must end,
  // too.
  {
    Agent vanishes{stack.socket_url(), stack.lend({}).token};
    vanishes.send_hello();
    vanishes.take_job();
  }
  REQUIRE(test::eventually([&] { return stack.number("SELECT losses FROM job") == 1; }));
  CHECK(stack.number("SELECT hand_backs FROM job") == limits::kHandBacksMax - 1);
  hand_back(false);
  const auto shown = stack.job(job);
  CHECK(shown["state"] == "failed");
  CHECK(shown["failure_code"] == "handed_back_too_often");
  CHECK(stack.balance_of(stack.client()) == DispatchStack::kGrant);
  stack.check();
}
