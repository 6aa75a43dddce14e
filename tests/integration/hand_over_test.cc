// Jobs are moved from a machine to another one, and agents that start again have lost theirs: over real
// sockets.
#include <doctest/doctest.h>
#include <pqxx/pqxx>

#include "core/digest.h"
#include "core/limits.h"
#include "market/store/admin.h"
#include "tests/support/agent.h"
#include "tests/support/checkpoints.h"
#include "tests/support/dispatch.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"

using namespace remotist;
using namespace std::chrono_literals;
using nlohmann::json;
using test::Agent;
using test::DispatchStack;

namespace {

test::HttpAnswer migrate(const DispatchStack& stack, const std::string& job, const test::TestAccount& by) {
  return test::Http{stack.market().url()}.send("POST", "/job/" + job + "/migrate", json::object(), by.token);
}

protocol::Welcome hello_with_software(Agent& agent, std::vector<protocol::AttemptKey> holds = {}) {
  agent.say(protocol::Hello{.protocols = {protocol::kVersion},
                            .software = "test",
                            .attempts = std::move(holds),
                            .r_version = "4.5.0",
                            .architecture = "x86_64",
                            .packages = {"MASS 7.3-65"}});
  return agent.hear<protocol::Welcome>();
}

// The machine takes a checkpoint of its attempt.
void record(const DispatchStack& stack, const DispatchStack::Machine& machine,
            const protocol::AttemptKey& attempt) {
  test::Http http{stack.market().url()};
  const auto job = attempt.name.job.text();
  const std::vector<std::string> headers{
      "Authorization: Bearer " + machine.token,
      "Remotist-Attempt: " + job + " " + std::to_string(attempt.name.number) + " " + attempt.token};
  REQUIRE(http.call("PUT", "/blob/" + hex_of(sha256("state")) + "?for=checkpoint", "state", headers).status ==
          204);
  REQUIRE(http.call("POST", "/job/" + job + "/checkpoint",
                    test::manifest(1, {hex_of(sha256("state"))}).dump(), headers)
              .status == 201);
}

std::int64_t attempts_of(const DispatchStack& stack, const std::string& outcome) {
  return stack.number("SELECT count(*) FROM attempt WHERE outcome = '" + outcome + "'");
}

}  // namespace

TEST_CASE("a job that its owner moves is handed over, goes on elsewhere, and nothing is held against it") {
  const DispatchStack stack;
  const auto machine = stack.lend({});
  Agent agent{stack.socket_url(), machine.token};
  hello_with_software(agent);
  const auto job = stack.submit({});
  const auto assignment = agent.take_job();
  CHECK(assignment.resumable);
  CHECK_FALSE(assignment.resume);
  CHECK(assignment.loss_ms_mean == 24 * 3'600'000);
  const auto answer = migrate(stack, job, stack.client());
  CHECK(answer.status == 202);
  CHECK(answer.json()["state"] == "running");
  const auto asked = agent.hear<protocol::HandOver>();
  CHECK(asked.attempts == std::vector{assignment.attempt.name});
  CHECK(asked.reason.contains("owner"));
  record(stack, machine, assignment.attempt);
  agent.say(
      protocol::Outcome{.attempt = assignment.attempt, .kind = AttemptOutcome::handed_back, .cpu_ms = 1});
  agent.await_acknowledged();
  CHECK(stack.number("SELECT hand_backs FROM job") == 0);

  // A machine without R does not get it, one that can resume it does.
  Agent unable{stack.socket_url(), stack.lend({}).token};
  unable.send_hello();
  CHECK_FALSE(unable.hear_if<protocol::Assign>(1s));
  Agent able{stack.socket_url(), stack.lend({.price_micro_per_cpu_second = 1}).token};
  hello_with_software(able);
  std::optional<protocol::Assign> given;
  REQUIRE(able.beats_until({}, [&] { return (given = able.hear_if<protocol::Assign>(10ms)).has_value(); }));
  CHECK(given->jobs.front().resume);
  CHECK(given->jobs.front().attempt.name.job.text() == job);
  stack.check();
}

TEST_CASE("a job that no machine can resume goes to any machine once its wait is over") {
  const DispatchStack stack;
  const auto machine = stack.lend({});
  Agent agent{stack.socket_url(), machine.token};
  hello_with_software(agent);
  stack.submit({});
  const auto assignment = agent.take_job();
  record(stack, machine, assignment.attempt);
  agent.say(protocol::Goodbye{"closing the lid", {assignment.attempt}});
  agent.await_acknowledged();
  Agent unable{stack.socket_url(), stack.lend({}).token};
  unable.send_hello();
  CHECK_FALSE(unable.hear_if<protocol::Assign>(1s));
  stack.execute("UPDATE job SET resume_until = now()");
  std::optional<protocol::Assign> given;
  REQUIRE(
      unable.beats_until({}, [&] { return (given = unable.hear_if<protocol::Assign>(10ms)).has_value(); }));
  CHECK(given->jobs.front().resume);
  stack.check();
}

TEST_CASE(
    "an admin may move a job, and it is in the audit log; a stranger may not, nor a job that does not run") {
  const DispatchStack stack;
  Agent agent{stack.socket_url(), stack.lend({}).token};
  agent.send_hello();
  const auto job = stack.submit({});
  CHECK(migrate(stack, JobId::make().text(), stack.client()).code() == "not_found");
  const auto assignment = agent.hear_assignment();
  CHECK(migrate(stack, job, stack.client()).code() == "wrong_state");  // it is assigned only
  agent.say(protocol::Accept{{assignment.attempt}});
  agent.await_acknowledged();
  CHECK(migrate(stack, job, stack.newcomer()).code() == "not_found");
  const auto admin = stack.newcomer();
  pg::Connection db{stack.market().database_url()};
  market::make_admin(db, AccountId::parse(admin.id).value());
  CHECK(migrate(stack, job, admin).status == 202);
  CHECK(agent.hear<protocol::HandOver>().reason.contains("admin"));
  CHECK(stack.number("SELECT count(*) FROM audit_event WHERE action = 'job_migrated' AND subject = '" + job +
                     "'") == 1);
  // Asking again does not give it more time.
  stack.execute("UPDATE attempt SET leave_by = leave_by - interval '1 minute'");
  CHECK(migrate(stack, job, stack.client()).status == 202);
  CHECK(stack.number("SELECT count(*) FROM attempt WHERE leave_by < now() + interval '61 seconds'") == 1);
  stack.check();
}

TEST_CASE("a machine that does not hand a job over in time loses it, and it is not held against the job") {
  const DispatchStack stack;
  Agent agent{stack.socket_url(), stack.lend({}).token};
  agent.send_hello();
  const auto job = stack.submit({});
  const auto assignment = agent.take_job();
  CHECK(migrate(stack, job, stack.client()).status == 202);
  CHECK(stack.number("SELECT ceil(extract(epoch FROM leave_by - now()))::bigint FROM attempt") <=
        limits::kHandOverSecondsMax);
  CHECK(stack.number("SELECT ceil(extract(epoch FROM leave_by - now()))::bigint FROM attempt") >
        limits::kHandOverSecondsMax - 60);
  stack.execute("UPDATE attempt SET leave_by = now()");
  REQUIRE(agent.beats_until({assignment.attempt}, [&] { return attempts_of(stack, "handed_back") == 1; }));
  CHECK(agent.hear<protocol::Stop>().reason == "stale_attempt");
  CHECK(stack.number("SELECT hand_backs FROM job") == 0);
  CHECK(stack.number("SELECT losses FROM job") == 0);
  stack.check();
}

TEST_CASE("a machine that connects again is told again which attempts it has to hand over") {
  const DispatchStack stack;
  const auto machine = stack.lend({});
  std::optional<Agent> agent;
  agent.emplace(stack.socket_url(), machine.token);
  agent->send_hello();
  const auto job = stack.submit({});
  const auto assignment = agent->take_job();
  agent.reset();
  CHECK(migrate(stack, job, stack.client()).status == 202);
  agent.emplace(stack.socket_url(), machine.token);
  CHECK(agent->send_hello({assignment.attempt}).keep.size() == 1);
  CHECK(agent->hear<protocol::HandOver>().attempts == std::vector{assignment.attempt.name});
  stack.check();
}

TEST_CASE("an agent that starts again has lost the attempts that it had accepted, at once") {
  const DispatchStack stack;
  const auto machine = stack.lend({.cpu_cores = 2});
  std::optional<Agent> agent;
  agent.emplace(stack.socket_url(), machine.token);
  hello_with_software(*agent);
  const auto job = stack.submit({});
  const auto assignment = agent->take_job();
  record(stack, machine, assignment.attempt);
  agent.reset();
  agent.emplace(stack.socket_url(), machine.token);
  const auto welcome = hello_with_software(*agent);
  CHECK(welcome.keep.empty());
  CHECK(welcome.stop.empty());
  // It had recorded a checkpoint, so the same machine may go on with it: as a new attempt.
  const auto again = agent->hear_assignment();
  CHECK(again.attempt.name == protocol::AttemptName{assignment.attempt.name.job, 2});
  CHECK(again.resume);
  CHECK(attempts_of(stack, "lost") == 1);
  agent->complete(assignment.attempt);
  CHECK(agent->hear<protocol::Stop>().attempts.front() == assignment.attempt.name);
  CHECK(stack.state_of(job) == "assigned");
  stack.check();
}

TEST_CASE("hello says what software a machine has, and the next hello may say otherwise") {
  const DispatchStack stack;
  const auto machine = stack.lend({});
  std::optional<Agent> agent;
  agent.emplace(stack.socket_url(), machine.token);
  hello_with_software(*agent);
  const auto stored = [&](const char* condition) {
    return stack.number("SELECT count(*) FROM machine WHERE " + std::string{condition}) == 1;
  };
  CHECK(stored("r_version = '4.5.0' AND architecture = 'x86_64' AND packages = '{MASS 7.3-65}'"));
  agent.emplace(stack.socket_url(), machine.token);
  agent->send_hello();
  CHECK(stored("r_version = '' AND architecture = '' AND packages = '{}'"));
}
