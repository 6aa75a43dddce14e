// Machines that vanish, return, forget, and markets and databases that do.
#include <csignal>
#include <doctest/doctest.h>
#include <future>

#include "core/limits.h"
#include "tests/support/agent.h"
#include "tests/support/dispatch.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"

using namespace remotist;
using namespace std::chrono_literals;
using test::Agent;
using test::DispatchStack;
using test::eventually;

namespace {

std::int64_t attempts_of(const DispatchStack& stack, const std::string& outcome) {
  return stack.number("SELECT count(*) FROM attempt WHERE outcome = '" + outcome + "'");
}

}  // namespace

TEST_CASE(
    "an agent that returns after its lease ran out is told to stop, and everything it sends is refused") {
  const DispatchStack stack;
  const auto silent = stack.lend({.price_micro_per_cpu_second = 1000});
  const auto other = stack.lend({.price_micro_per_cpu_second = 2000});
  Agent agent{stack.socket_url(), silent.token};
  agent.send_hello();
  const auto job = stack.submit({});
  const auto first = agent.take_job();
  Agent second{stack.socket_url(), other.token};
  second.send_hello();
  // The first says nothing more; its socket stays open.
  std::optional<protocol::Assign> given;
  REQUIRE(
      second.beats_until({}, [&] { return (given = second.hear_if<protocol::Assign>(10ms)).has_value(); }));
  const auto again = given->jobs.front();
  CHECK(again.attempt.name == protocol::AttemptName{first.attempt.name.job, 2});
  second.say(protocol::Accept{{again.attempt}});
  second.await_acknowledged();

  CHECK(agent.close_code() == 4002);
  second.beat({again.attempt});
  Agent returned{stack.socket_url(), silent.token};
  const auto welcome = returned.send_hello({first.attempt});
  CHECK(welcome.keep.empty());
  CHECK(welcome.stop == std::vector{first.attempt.name});
  returned.complete(first.attempt, 1000, "stolen");
  CHECK(returned.hear<protocol::Stop>().reason == "stale_attempt");
  returned.say(protocol::Accept{{first.attempt}});
  CHECK(returned.hear<protocol::Stop>().attempts.front() == first.attempt.name);
  // Nor with the other's number and its own token, nor with the other's token from its own machine.
  returned.complete({again.attempt.name, first.attempt.token}, 1000, "stolen");
  CHECK(returned.hear<protocol::Stop>().attempts.front() == again.attempt.name);
  returned.complete(again.attempt, 1000, "stolen");
  CHECK(returned.hear<protocol::Stop>().attempts.front() == again.attempt.name);
  second.beat({again.attempt});
  CHECK(stack.output_status(job, silent, first.attempt) == 409);
  CHECK(stack.state_of(job) == "running");

  second.complete(again.attempt, 0, "right");
  second.await_acknowledged();
  CHECK(stack.output_of(job) == "right");
  CHECK(stack.balance_of(silent.owner) == DispatchStack::kGrant);
  CHECK(attempts_of(stack, "lost") == 1);
  stack.check();
}

TEST_CASE("an attempt that beats do not name is lost although its machine is there") {
  const DispatchStack stack;
  Agent agent{stack.socket_url(), stack.lend({}).token};
  agent.send_hello();
  const auto job = stack.submit({});
  const auto assignment = agent.take_job();
  REQUIRE(agent.beats_until({}, [&] { return attempts_of(stack, "lost") == 1; }));
  CHECK(agent.hear<protocol::Stop>().attempts.front() == assignment.attempt.name);
  CHECK(stack.state_of(job) == "queued");
  CHECK(!agent.hear_if<protocol::Assign>(1s));  // a machine that lost it does not get it again
  stack.check();
}

TEST_CASE("a job that lost five machines in a row fails, and its owner gets everything back") {
  const DispatchStack stack;
  const auto job = stack.submit({});
  for (int i = 0; i < 5; ++i) {
    const auto machine = stack.lend({});
    {
      Agent agent{stack.socket_url(), machine.token};
      agent.send_hello();
      agent.take_job();
    }
    REQUIRE(eventually([&] { return attempts_of(stack, "lost") == i + 1; }));
  }
  const auto shown = stack.job(job);
  CHECK(shown["state"] == "failed");
  CHECK(shown["failure_code"] == "lost_too_often");
  CHECK(stack.balance_of(stack.client()) == DispatchStack::kGrant);
  stack.check();
}

TEST_CASE("an assignment that is not accepted in time goes to another machine") {
  const DispatchStack stack;
  const auto rude = stack.lend({});
  Agent agent{stack.socket_url(), rude.token};
  agent.send_hello();
  stack.submit({});
  const auto ignored = agent.hear_assignment();
  Agent other{stack.socket_url(), stack.lend({.price_micro_per_cpu_second = 1}).token};
  other.send_hello();
  std::optional<protocol::Assign> given;
  REQUIRE(agent.beats_until({}, [&] {
    std::this_thread::sleep_for(100ms);
    other.beat({});
    return (given = other.hear_if<protocol::Assign>(10ms)).has_value();
  }));
  CHECK(given->jobs.front().attempt.name.number == 2);
  agent.say(protocol::Accept{{ignored.attempt}});
  CHECK(agent.hear<protocol::Stop>().attempts.front() == ignored.attempt.name);
  stack.check();
}

TEST_CASE("what a machine refuses or hands back goes to another one") {
  const DispatchStack stack;
  Agent first{stack.socket_url(), stack.lend({}).token};
  first.send_hello();
  const auto job = stack.submit({});
  const auto refused = first.hear_assignment();
  first.say(protocol::Refuse{{refused.attempt}, "the disk is full"});
  first.await_acknowledged();
  CHECK(stack.state_of(job) == "queued");
  Agent second{stack.socket_url(), stack.lend({}).token};
  second.send_hello();
  const auto taken = second.take_job();
  second.say(protocol::Outcome{.attempt = taken.attempt, .kind = AttemptOutcome::handed_back, .cpu_ms = 1});
  second.await_acknowledged();
  Agent third{stack.socket_url(), stack.lend({}).token};
  third.send_hello();
  const auto last = third.take_job();
  CHECK(last.attempt.name.number == 3);
  third.complete(last.attempt);
  third.await_acknowledged();
  CHECK(attempts_of(stack, "refused") == 1);
  CHECK(attempts_of(stack, "handed_back") == 1);
  stack.check();
}

TEST_CASE("a machine that says goodbye gives its attempts back at once and is gone") {
  const DispatchStack stack;
  const auto leaving = stack.lend({});
  Agent agent{stack.socket_url(), leaving.token};
  agent.send_hello();
  const auto job = stack.submit({});
  const auto assignment = agent.take_job();
  agent.say(protocol::Goodbye{"closing the lid", {assignment.attempt}});
  agent.await_acknowledged();
  CHECK(stack.state_of(job) == "queued");
  CHECK(eventually(
      [&] { return stack.number("SELECT count(*) FROM machine_session WHERE ended_at IS NULL") == 0; },
      DispatchStack::kLease / 2));
  stack.check();
}

TEST_CASE(
    "hello says what a machine holds: what is right it keeps, what it had not accepted comes again with a "
    "new "
    "token") {
  const DispatchStack stack;
  const auto machine = stack.lend({.cpu_cores = 2});
  stack.submit({});
  stack.submit({});
  std::optional<Agent> agent;
  agent.emplace(stack.socket_url(), machine.token);
  agent->send_hello();
  const auto kept = agent->take_job();
  const auto forgotten = agent->hear_assignment();
  agent.reset();

  Agent back{stack.socket_url(), machine.token};
  const auto unknown = protocol::AttemptKey{{JobId::make(), 7}, "remotist_attempt_x"};
  const auto welcome = back.send_hello({kept.attempt, unknown});
  CHECK(welcome.keep == std::vector{kept.attempt.name});
  CHECK(welcome.stop == std::vector{unknown.name});
  const auto again = back.take_job();
  CHECK(again.attempt.name == forgotten.attempt.name);
  CHECK(again.attempt.token != forgotten.attempt.token);
  back.complete(forgotten.attempt);
  CHECK(back.hear<protocol::Stop>().attempts.front() == forgotten.attempt.name);
  back.complete(kept.attempt);
  back.complete(again.attempt);
  back.await_acknowledged();
  CHECK(attempts_of(stack, "completed") == 2);
  stack.check();
}

TEST_CASE("a market that is killed and returns costs no attempt") {
  const DispatchStack stack;
  const auto machine = stack.lend({});
  const auto job = stack.submit({});
  std::optional<Agent> agent;
  agent.emplace(stack.socket_url(), machine.token);
  agent->send_hello();
  const auto assignment = agent->take_job();
  stack.market().kill();
  CHECK(agent->close_code() == 1006);
  stack.market().start();
  agent.emplace(stack.socket_url(), machine.token);
  CHECK(agent->send_hello({assignment.attempt}).keep.size() == 1);
  std::this_thread::sleep_for(DispatchStack::kLease / 2);
  agent->complete(assignment.attempt, 0, "done");
  agent->await_acknowledged();
  CHECK(stack.state_of(job) == "completed");
  CHECK(stack.number("SELECT count(*) FROM attempt") == 1);
  stack.check();
}

TEST_CASE(
    "a database that is away for several leases costs no attempt, and what was reported meanwhile counts") {
  const DispatchStack stack;
  const auto machine = stack.lend({.cpu_cores = 2});
  const auto running = stack.submit({});
  const auto ending = stack.submit({});
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  const auto one = agent.take_job();
  const auto two = agent.take_job();
  const auto& runs = one.attempt.name.job.text() == running ? one : two;
  const auto& ends = one.attempt.name.job.text() == running ? two : one;
  test::kill_part("postgres");
  agent.complete(ends.attempt, 0, "said to a market without a database");
  const auto until = std::chrono::steady_clock::now() + 3 * DispatchStack::kLease;
  agent.beats_until({runs.attempt}, [&] { return std::chrono::steady_clock::now() > until; });
  // The machine beats all the while, however long that takes.
  auto back = std::async(std::launch::async, test::bring_up);
  REQUIRE(agent.beats_until({runs.attempt}, [&] { return back.wait_for(0s) == std::future_status::ready; }));
  back.get();
  REQUIRE(agent.beats_until({runs.attempt}, [&] { return stack.state_of(ending) == "completed"; }));
  const auto later = std::chrono::steady_clock::now() + 2 * DispatchStack::kLease;
  agent.beats_until({runs.attempt}, [&] { return std::chrono::steady_clock::now() > later; });
  CHECK(stack.state_of(running) == "running");
  agent.complete(runs.attempt);
  agent.await_acknowledged();
  CHECK(stack.number("SELECT count(*) FROM attempt") == 2);
  stack.check();
}

TEST_CASE("a worker that is killed loses nothing: another goes on where it was") {
  const DispatchStack stack;
  const auto machine = stack.lend({.cpu_cores = 4});
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  stack.worker().process().kill();
  const auto job = stack.submit({});
  CHECK(!agent.hear_if<protocol::Assign>(500ms));
  stack.worker().start();
  std::optional<protocol::Assign> given;
  REQUIRE(agent.beats_until({}, [&] { return (given = agent.hear_if<protocol::Assign>(10ms)).has_value(); }));
  CHECK(given->jobs.front().attempt.name.job.text() == job);
  stack.check();
}

TEST_CASE("a machine that connects to another market is found there, and its old socket is closed") {
  const DispatchStack stack;
  const test::OwnMarket other{stack.market(), {{"BEAT_MS", std::to_string(DispatchStack::kBeat.count())}}};
  const auto machine = stack.lend({});
  Agent old{stack.socket_url(), machine.token};
  old.send_hello();
  stack.submit({});
  const auto assignment = old.take_job();
  Agent moved{other.socket_url(), machine.token};
  CHECK(moved.send_hello({assignment.attempt}).keep.size() == 1);
  moved.complete(assignment.attempt);
  moved.await_acknowledged();
  stack.submit({});
  moved.take_job();
  CHECK(old.close_code() == 4002);
  stack.check();
}

TEST_CASE("a renewed token works, and the old one until the new one has said hello") {
  const DispatchStack stack;
  const auto machine = stack.lend({});
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  agent.say(protocol::Renew{});
  const auto token = agent.hear<protocol::Token>();
  CHECK(test::socket_status(stack.socket_url(), machine.token) == 101);
  Agent renewed{stack.socket_url(), token.token};
  renewed.send_hello();
  CHECK(test::socket_status(stack.socket_url(), machine.token) == 401);
  CHECK(agent.close_code() == 4001);
}

TEST_CASE("a token is renewed once in a while, and of a machine's tokens at most two are valid") {
  const DispatchStack stack;
  const auto machine = stack.lend({});
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  const auto valid = [&] {
    return stack.number(
        "SELECT count(*) FROM login_token WHERE machine_id IS NOT NULL AND expires_at > now()");
  };
  agent.say(protocol::Renew{});
  const auto first = agent.hear<protocol::Token>();
  for (int i = 0; i < 20; ++i) {
    agent.say(protocol::Renew{});
    CHECK(agent.hear<protocol::Problem>().code == "rate_limited");
  }
  CHECK(valid() == 2);
  // Once the pause is over it is renewed again. The token of the connection stays valid, for the answer may
  // be lost; those that were never used end.
  for (int round = 0; round < 5; ++round) {
    stack.execute("UPDATE machine SET token_renewed_at = token_renewed_at - interval '" +
                  std::to_string(limits::kTokenRenewSecondsMin) + " s'");
    agent.say(protocol::Renew{});
    agent.hear<protocol::Token>();
    CHECK(valid() == 2);
    CHECK(test::socket_status(stack.socket_url(), machine.token) == 101);
  }
  CHECK(stack.number("SELECT count(*) FROM login_token WHERE machine_id IS NOT NULL") == 2);
  CHECK(test::socket_status(stack.socket_url(), first.token) == 401);
}

TEST_CASE("volunteers that are started in a row have one valid token") {
  const DispatchStack stack;
  const auto machine = stack.lend({});
  test::Http http{stack.market().url()};
  std::string token;
  for (int i = 0; i < 20; ++i) {
    const auto started = http.send("POST", "/machine/" + machine.id + "/startVolunteer",
                                   nlohmann::json::object(), machine.owner.token);
    REQUIRE(started.status == 200);
    token = started.json()["token"];
  }
  CHECK(stack.number("SELECT count(*) FROM login_token WHERE machine_id IS NOT NULL") == 1);
  CHECK(test::socket_status(stack.socket_url(), machine.token) == 401);
  CHECK(test::socket_status(stack.socket_url(), token) == 101);
}
