// What a machine is paid for a job that is stopped while it runs: measured to the end, once, and whoever dies
// meanwhile.
#include <doctest/doctest.h>
#include <thread>

#include "tests/support/agent.h"
#include "tests/support/dispatch.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"

using namespace remotist;
using namespace std::chrono_literals;
using test::Agent;
using test::DispatchStack;
using test::eventually;

namespace {

constexpr std::int64_t kGrant = DispatchStack::kGrant;

// A job that runs for some time on a machine that asks a micro-credit for a millisecond.
struct Running {
  const DispatchStack stack;
  const DispatchStack::Machine machine = stack.lend({.price_micro_per_cpu_second = 1000});
  std::optional<Agent> agent;
  std::string job;
  std::optional<protocol::Assignment> assignment;

  explicit Running(const DispatchStack::Wish& wish = {}) {
    connect();
    agent->send_hello();
    job = stack.submit(wish);
    assignment = agent->take_job();
    std::this_thread::sleep_for(100ms);
  }
  void connect() { agent.emplace(stack.socket_url(), machine.token); }
  const protocol::AttemptKey& attempt() const { return assignment->attempt; }
  void answer(std::int64_t cpu_ms, AttemptOutcome kind = AttemptOutcome::cancelled) {
    agent->say(protocol::Outcome{.attempt = attempt(), .kind = kind, .cpu_ms = cpu_ms});
    agent->await_acknowledged();
  }
  std::int64_t earned() const { return stack.balance_of(machine.owner) - kGrant; }
  std::int64_t spent() const { return kGrant - stack.balance_of(stack.client()); }
  bool earns_in_time(std::int64_t micro) {
    return agent->beats_until({}, [&] { return earned() == micro && spent() == micro; });
  }
};

}  // namespace

TEST_CASE(
    "a job that is cancelled between two beats pays what it took to the end, and nothing later counts") {
  Running run;
  CHECK(run.stack.cancel(run.job) == 200);
  CHECK(run.stack.state_of(run.job) == "cancelled");
  CHECK(run.agent->hear<protocol::Stop>().reason == "cancelled");
  // The machine has not answered yet: nothing is paid, and nothing given back.
  CHECK(run.earned() == 0);
  CHECK(run.spent() == 1'000'000);
  run.stack.check();
  run.answer(90);
  CHECK(run.earned() == 90);
  CHECK(run.spent() == 90);
  CHECK(run.stack.number("SELECT cpu_ms FROM attempt") == 90);
  CHECK(run.stack.number("SELECT paid_micro FROM attempt") == 90);
  run.agent->complete(run.attempt(), 95, "too late");
  CHECK(run.agent->hear<protocol::Stop>().reason == "stale_attempt");
  CHECK(run.stack.output_status(run.job, run.machine, run.attempt()) == 409);
  CHECK(run.earned() == 90);
  CHECK(run.stack.number("SELECT count(*) FROM settlement") == 0);
  run.stack.check();
}

TEST_CASE("a job whose deadline passes pays what it took to the end") {
  Running run{{.deadline_seconds = 2}};
  std::optional<protocol::Stop> stop;
  REQUIRE(run.agent->beats_until(
      {run.attempt()}, [&] { return (stop = run.agent->hear_if<protocol::Stop>(10ms)).has_value(); }));
  // A beat that comes before the worker's message is answered as one of an attempt that is over.
  CHECK((stop->reason == "expired" || stop->reason == "stale_attempt"));
  run.answer(95);
  CHECK(run.earned() == 95);
  CHECK(run.spent() == 95);
  CHECK(run.stack.state_of(run.job) == "expired");
  run.stack.check();
}

TEST_CASE("a machine that does not answer is paid for what its last beat said, after a lease") {
  Running run;
  run.agent->beat({run.attempt()}, 40);
  REQUIRE(eventually([&] { return run.stack.number("SELECT cpu_ms FROM attempt") == 40; }));
  CHECK(run.stack.cancel(run.job) == 200);
  REQUIRE(run.earns_in_time(40));
  run.answer(80);
  CHECK(run.earned() == 40);
  run.stack.check();
}

TEST_CASE("no answer earns more than the time that passed, or than the job holds, or for somebody else") {
  Running run;
  CHECK(run.stack.cancel(run.job) == 200);
  Agent stranger{run.stack.socket_url(), run.stack.lend({.price_micro_per_cpu_second = 1000}).token};
  stranger.send_hello();
  stranger.say(protocol::Outcome{.attempt = run.attempt(), .kind = AttemptOutcome::cancelled, .cpu_ms = 1});
  stranger.await_acknowledged();
  const protocol::AttemptKey forged{run.attempt().name, run.attempt().token + "x"};
  run.agent->say(protocol::Outcome{.attempt = forged, .kind = AttemptOutcome::cancelled, .cpu_ms = 1});
  run.agent->await_acknowledged();
  CHECK(run.stack.number("SELECT count(*) FROM settlement") == 1);
  run.answer(1'000'000'000'000);
  CHECK(run.stack.number("SELECT count(*) FROM attempt WHERE cpu_ms >= 100 AND "
                         "cpu_ms = (extract(epoch FROM ended_at - accepted_at) * 1000)::bigint") == 1);
  CHECK(run.earned() == run.stack.number("SELECT cpu_ms FROM attempt"));
  CHECK(run.spent() == run.earned());
  run.stack.check();

  Running poor{{.price = 50'000, .cpu_cores = 1}};
  poor.stack.execute(
      "UPDATE attempt SET price_micro_per_cpu_second = 1000000, accepted_at = accepted_at - interval '1 "
      "hour'");
  CHECK(poor.stack.cancel(poor.job) == 200);
  poor.answer(3'600'000);
  CHECK(poor.earned() == 50'000);
  CHECK(poor.spent() == 50'000);
  poor.stack.check();
}

TEST_CASE("a job that is deleted before its machine has answered pays all the same") {
  Running run;
  CHECK(run.stack.cancel(run.job) == 200);
  CHECK(test::Http{run.stack.market().url()}
            .call("DELETE", "/job/" + run.job, {}, {"Authorization: Bearer " + run.stack.client().token})
            .status == 204);
  run.stack.check();
  run.answer(60);
  CHECK(run.earned() == 60);
  CHECK(run.spent() == 60);
  run.stack.check();
}

TEST_CASE("a result that crosses the cancellation on its way earns what it says, and is nobody's") {
  Running run;
  CHECK(run.stack.cancel(run.job) == 200);
  run.agent->complete(run.attempt(), 70, "crossed");
  run.agent->await_acknowledged();
  CHECK(run.stack.state_of(run.job) == "cancelled");
  CHECK(run.earned() == 70);
  CHECK(run.stack.number("SELECT count(*) FROM job_file WHERE attempt_number IS NOT NULL") == 0);
  run.stack.check();
}

TEST_CASE("a market that is killed between the cancellation and the answer costs nobody anything") {
  Running run;
  CHECK(run.stack.cancel(run.job) == 200);
  run.stack.market().kill();
  run.stack.market().start();
  run.connect();
  CHECK(run.agent->send_hello({run.attempt()}).stop == std::vector{run.attempt().name});
  run.stack.check();
  run.answer(80);
  CHECK(run.earned() == 80);
  CHECK(run.spent() == 80);
  run.stack.check();
}

TEST_CASE("a goodbye answers too, with what the last beat said") {
  Running run;
  run.agent->beat({run.attempt()}, 55);
  REQUIRE(eventually([&] { return run.stack.number("SELECT cpu_ms FROM attempt") == 55; }));
  CHECK(run.stack.cancel(run.job) == 200);
  run.agent->say(protocol::Goodbye{"closing the lid", {run.attempt()}});
  run.agent->await_acknowledged();
  CHECK(run.earned() == 55);
  CHECK(run.spent() == 55);
  run.stack.check();
}
