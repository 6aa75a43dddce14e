// From a submitted job to a paid machine, through market, RabbitMQ and worker, with agents that do as they
// are told.
#include "tests/support/dispatch.h"

#include <doctest/doctest.h>

#include "core/amqp/queues.h"
#include "core/digest.h"
#include "core/json.h"
#include "core/limits.h"
#include "tests/support/agent.h"
#include "tests/support/broker.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"

using namespace remotist;
using namespace std::chrono_literals;
using test::Agent;
using test::DispatchStack;
using test::eventually;
using test::Http;

TEST_CASE("a job goes to a machine, runs there, and its result and its pay arrive together") {
  const DispatchStack stack;
  const auto machine = stack.lend({.price_micro_per_cpu_second = 1000});
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  const auto job = stack.submit({.price = 1'000'000});
  const auto assignment = agent.take_job();
  CHECK(assignment.attempt.name.job.text() == job);
  CHECK(assignment.exec_file == "main.R");
  CHECK(assignment.cpu_ms_max == 1'000'000);  // a credit at a thousandth of a credit a second
  CHECK(stack.state_of(job) == "running");
  std::this_thread::sleep_for(60ms);  // what was not spent cannot be paid
  agent.complete(assignment.attempt, 50, std::string{"\x00\xffresult", 8});
  agent.await_acknowledged();
  CHECK(stack.state_of(job) == "completed");
  CHECK(stack.output_of(job) == std::string{"\x00\xffresult", 8});
  CHECK(stack.balance_of(machine.owner) == DispatchStack::kGrant + 50);
  CHECK(stack.balance_of(stack.client()) == DispatchStack::kGrant - 50);
  stack.check();
}

TEST_CASE(
    "a small file with zero bytes is sent in base64, because many JSON readers end a text at a zero byte") {
  const DispatchStack stack;
  Agent agent{stack.socket_url(), stack.lend({}).token};
  agent.send_hello();
  Http http{stack.market().url()};
  const auto told = [&](const std::string& result) {
    const auto job = stack.submit({});
    agent.complete(agent.take_job().attempt, 1, result);
    agent.await_acknowledged();
    return http.get("/job/" + job + "/output", stack.client().token).json()["files"][0];
  };
  const std::string zeros{"\x01\0\0\0\x02\0\0\0", 8};
  const auto with_zeros = told(zeros);
  CHECK_FALSE(with_zeros.contains("text"));
  CHECK(bytes_of_base64(with_zeros["base64"].get<std::string>()) == zeros);
  CHECK(told("text")["text"] == "text");
}

TEST_CASE("a job's files come with its assignment up to the limit, and one byte more is to be fetched") {
  const DispatchStack stack;
  Agent agent{stack.socket_url(), stack.lend({}).token};
  agent.send_hello();
  const auto files_of_job_with = [&](const std::string& code) {
    stack.submit({.code = code});
    const auto assignment = agent.take_job();
    agent.complete(assignment.attempt, 1);
    agent.await_acknowledged();
    return assignment.files;
  };
  const std::string most(limits::kAssignedFilesBytesMax, '#');
  const auto files = files_of_job_with(most);
  REQUIRE(files.size() == 1);
  CHECK(files[0].path == "main.R");
  CHECK(files[0].bytes == most);
  CHECK(files_of_job_with(most + "#").empty());
  stack.check();
}

TEST_CASE("a machine is paid for no more time than has passed, and for no more than the price") {
  const DispatchStack stack;
  const auto machine = stack.lend({.price_micro_per_cpu_second = 1'000'000});
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  stack.submit({.price = 2'000'000});
  const auto greedy = agent.take_job();
  agent.complete(greedy.attempt, 1'000'000'000);
  agent.await_acknowledged();
  const auto earned = stack.balance_of(machine.owner) - DispatchStack::kGrant;
  CHECK(earned <= 2'000'000);
  CHECK(earned < 1'900'000);  // two seconds have not passed
  stack.check();
}

TEST_CASE("a script that stops with an error fails its job, and the machine is paid for the work") {
  const DispatchStack stack;
  const auto machine = stack.lend({.price_micro_per_cpu_second = 1000});
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  const auto job = stack.submit({});
  const auto assignment = agent.take_job();
  std::this_thread::sleep_for(20ms);
  agent.say(protocol::Outcome{.attempt = assignment.attempt,
                              .kind = AttemptOutcome::failed,
                              .cpu_ms = 10,
                              .failure_code = FailureCode::r_error,
                              .failure_detail = "object 'x' not found"});
  agent.await_acknowledged();
  const auto shown = stack.job(job);
  CHECK(shown["state"] == "failed");
  CHECK(shown["failure_code"] == "r_error");
  CHECK(shown["failure_detail"] == "object 'x' not found");
  CHECK(stack.balance_of(machine.owner) == DispatchStack::kGrant + 10);
  stack.check();
}

TEST_CASE("a machine runs as many jobs as fit and takes the next when one ends") {
  const DispatchStack stack;
  const auto machine = stack.lend({.cpu_cores = 2});
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  for (int i = 0; i < 3; ++i) stack.submit({});
  const auto first = agent.take_job();
  agent.take_job();
  CHECK(!agent.hear_if<protocol::Assign>(700ms));
  agent.complete(first.attempt);
  agent.take_job();
  stack.check();
}

TEST_CASE("a job goes to no machine that is too small, too dear, its own undoing or not taking jobs") {
  const DispatchStack stack;
  Agent small{stack.socket_url(), stack.lend({.ram_mb = 512}).token};
  Agent dear{stack.socket_url(), stack.lend({.price_micro_per_cpu_second = 2'000'000}).token};
  Agent away{stack.socket_url(), stack.lend({}).token};
  small.send_hello();
  dear.send_hello();
  away.send_hello({}, false);
  const auto job = stack.submit({.price = 1'000'000});
  CHECK(!small.hear_if<protocol::Assign>(700ms));
  CHECK(!dear.hear_if<protocol::Assign>(1ms));
  CHECK(!away.hear_if<protocol::Assign>(1ms));
  // Its owner has left the keyboard.
  away.beat({});
  CHECK(away.take_job().attempt.name.job.text() == job);
  stack.check();
}

TEST_CASE("a machine whose owner says that it is busy gets no job until it is free") {
  const DispatchStack stack;
  const auto machine = stack.lend({});
  Http http{stack.market().url()};
  const auto say = [&](const nlohmann::json& body, const std::string& token) {
    return http.send("POST", "/volunteer/setState", body, token);
  };
  const auto health = [&] { return http.get("/volunteer/healthz", machine.owner.token).json(); };
  CHECK(health() == nlohmann::json{{"idle", 0}, {"busy", 0}, {"paused", 0}, {"offline", 1}, {"banned", 0}});
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  CHECK(health()["idle"] == 1);
  CHECK(say({{"machine", machine.id}, {"state", "busy"}}, machine.owner.token).json()["state"] == "paused");
  // A market may write a beat of the time before the pause after it.
  stack.execute("UPDATE machine_session SET taking_jobs = true WHERE ended_at IS NULL");
  CHECK(health()["paused"] == 1);
  const auto job = stack.submit({});
  agent.beat({});  // its agent knows nothing of it
  CHECK(!agent.hear_if<protocol::Assign>(stack.kBeat));
  // Nor does a new connection change it.
  Agent again{stack.socket_url(), machine.token};
  again.send_hello();
  CHECK(!again.hear_if<protocol::Assign>(500ms));
  CHECK(say({{"state", "free"}}, machine.token).status == 200);
  again.beat({});
  CHECK(again.take_job().attempt.name.job.text() == job);

  CHECK(say({{"machine", machine.id}, {"state", "asleep"}}, machine.owner.token).json()["field"] == "state");
  CHECK(say({{"state", "free"}}, machine.owner.token).json()["field"] == "machine");
  CHECK(say({{"machine", "x"}, {"state", "free"}}, machine.owner.token).json()["field"] == "machine");
  CHECK(say({{"machine", machine.id}, {"state", "busy"}}, stack.client().token).code() == "not_found");
  stack.check();
}

TEST_CASE("accounts take turns: an account with one job does not wait for one with many") {
  const DispatchStack stack;
  const auto machine = stack.lend({});
  std::vector<std::string> many;
  for (int i = 0; i < 6; ++i) many.push_back(stack.submit({}));
  const auto other = stack.newcomer();
  const auto one = stack.submit({}, other);
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  std::vector<std::string> order;
  for (int i = 0; i < 7; ++i) {
    const auto assignment = agent.take_job();
    order.push_back(assignment.attempt.name.job.text());
    agent.complete(assignment.attempt);
  }
  CHECK((order[0] == one || order[1] == one));
  std::erase(order, one);
  CHECK(order == many);
  stack.check();
}

TEST_CASE("a job that needs a whole machine gets one although small ones never end") {
  const DispatchStack stack{{}, {{"RESERVE_AFTER_SECONDS", "1"}}};
  const auto machine = stack.lend({.cpu_cores = 2});
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  const auto crowd = stack.newcomer();
  stack.submit({}, crowd);
  stack.submit({}, crowd);
  auto one = agent.take_job();
  auto two = agent.take_job();
  const auto whole = stack.submit({.cpu_cores = 2});
  for (int i = 0; i < 4; ++i) stack.submit({}, crowd);
  REQUIRE(agent.beats_until({one.attempt, two.attempt}, [&] {
    return stack.number("SELECT count(*) FROM machine_session WHERE reserved_for IS NOT NULL") == 1;
  }));
  agent.complete(one.attempt);
  CHECK(!agent.hear_if<protocol::Assign>(700ms));  // a core is free, and kept
  agent.beat({two.attempt});
  agent.complete(two.attempt);
  const auto big = agent.take_job();
  CHECK(big.attempt.name.job.text() == whole);
  agent.complete(big.attempt);
  agent.take_job();
  agent.take_job();
  // Jobs of the crowd that wait for more than a second may reserve the machine by now.
  CHECK(stack.number("SELECT count(*) FROM machine_session WHERE reserved_for = '" + whole + "'") == 0);
  stack.check();
}

TEST_CASE("a job whose deadline passes ends, queued or running, and its machine is sent a stop") {
  const DispatchStack stack;
  const auto machine = stack.lend({.price_micro_per_cpu_second = 1000});
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  const auto running = stack.submit({.deadline_seconds = 60});
  const auto assignment = agent.take_job();
  const auto waiting = stack.submit({.deadline_seconds = 60});
  stack.execute("UPDATE job SET deadline = now() - interval '1 second'");
  CHECK(agent.hear<protocol::Stop>().reason == "expired");
  CHECK(eventually([&] { return stack.state_of(waiting) == "expired"; }));
  CHECK(stack.state_of(running) == "expired");
  // The first answer settles it, the second comes too late.
  agent.complete(assignment.attempt);
  CHECK(eventually([&] { return stack.number("SELECT count(*) FROM settlement") == 0; }));
  agent.complete(assignment.attempt);
  CHECK(agent.hear<protocol::Stop>().reason == "stale_attempt");
  stack.check();
}

TEST_CASE(
    "progress that a script tells of is shown to its owner, and a newer one wakes who waits for events") {
  const DispatchStack stack;
  Agent agent{stack.socket_url(), stack.lend({}).token};
  agent.send_hello();
  const auto job = stack.submit({});
  const auto assignment = agent.take_job();
  agent.say(protocol::Progress{assignment.attempt, 0.25, "chain 1 of 4"});
  REQUIRE(agent.beats_until({assignment.attempt}, [&] { return stack.job(job)["progress"] == 0.25; }));
  CHECK(stack.job(job)["progress_message"] == "chain 1 of 4");
  agent.complete(assignment.attempt);
  agent.await_acknowledged();
  CHECK(stack.job(job)["progress"] == 1);
  stack.check();
}

TEST_CASE("progress that arrives before the attempt's acceptance is recorded is kept") {
  const DispatchStack stack;
  Agent agent{stack.socket_url(), stack.lend({}).token};
  agent.send_hello();
  const auto job = stack.submit({});
  const auto assignment = agent.hear_assignment();
  agent.say(protocol::Progress{assignment.attempt, 0.5, "half"});
  REQUIRE(agent.beats_until({assignment.attempt}, [&] { return stack.job(job)["progress"] == 0.5; }));
  agent.say(protocol::Accept{{assignment.attempt}});
  agent.complete(assignment.attempt);
  agent.await_acknowledged();
  CHECK(stack.job(job)["progress_message"] == "half");
  stack.check();
}

TEST_CASE("a job whose message was lost is found by a worker's scan") {
  const DispatchStack stack;
  Agent agent{stack.socket_url(), stack.lend({}).token};
  agent.send_hello();
  stack.worker().process().kill();
  const auto job = stack.submit({});
  REQUIRE(agent.beats_until({}, [&] { return stack.number("SELECT count(*) FROM outbox") == 0; }));
  {
    amqp::Connection connection{test::broker::address(), {}};
    connection.delete_queue(amqp::kJobsReady);
    amqp::declare_queues(connection);
  }
  stack.worker().start();
  CHECK(agent.beats_until({}, [&] { return stack.state_of(job) == "assigned"; }));
  stack.check();
}
