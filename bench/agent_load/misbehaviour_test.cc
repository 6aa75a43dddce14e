// The configured misbehaviours of machines.
#include <algorithm>
#include <doctest/doctest.h>

#include "bench/agent_load/machine_fixture.h"
#include "bench/agent_load/output.h"

namespace remotist::bench {

using namespace std::chrono_literals;
using namespace protocol;

TEST_CASE("a lost attempt is not named in beats and has no outcome") {
  MachineFixture fixture{{.job_ms = 1000, .job_ms_max = 1000, .lose = 1}};
  fixture.connect_machine();
  fixture.assign(1, 2);
  fixture.acknowledge();
  fixture.pass(15s);
  CHECK(fixture.all<Accept>().size() == 1);
  REQUIRE_FALSE(fixture.all<Beat>().empty());
  CHECK(fixture.all<Beat>().back().attempts.empty());
  CHECK(fixture.all<Outcome>().empty());
  CHECK(fixture.report.lost == 2);
}

TEST_CASE("a refusal is sent again until it is acknowledged") {
  MachineFixture fixture{{.refuse = 1}};
  fixture.connect_machine();
  fixture.assign(1, 2);
  REQUIRE(fixture.all<Refuse>().size() == 1);
  CHECK(fixture.all<Refuse>()[0].attempts.size() == 2);
  CHECK(fixture.all<Accept>().empty());
  fixture.machine.on_closed(0, "", fixture.now);
  fixture.pass(1s);
  fixture.connect_machine({{job(1), 1}, {job(2), 1}});
  CHECK(fixture.all<Refuse>().size() == 2);
  fixture.acknowledge();
  CHECK(fixture.report.refused == 2);
}

TEST_CASE("a machine fails or hands back") {
  MachineFixture failing{{.fail = 1}};
  failing.connect_machine();
  failing.assign(1, 1);
  CHECK(failing.all<Outcome>()[0].failure_code == FailureCode::r_error);
  CHECK(failing.all<Outcome>()[0].files.empty());
  MachineFixture returning{{.handback = 1}};
  returning.connect_machine();
  returning.assign(1, 1);
  CHECK(returning.all<Outcome>()[0].kind == AttemptOutcome::handed_back);
}

TEST_CASE("accepts and outcomes are delayed") {
  MachineFixture fixture{{.delay_accept_ms = 100, .delay_outcome_ms = 200}};
  fixture.connect_machine();
  fixture.assign(1, 2);
  fixture.pass(99ms);
  CHECK(fixture.all<Accept>().empty());
  fixture.pass(1ms);
  CHECK_FALSE(fixture.all<Accept>().empty());
  fixture.pass(199ms);
  CHECK(fixture.all<Outcome>().empty());
  fixture.pass(1ms);
  CHECK(fixture.all<Outcome>().size() == 2);
}

TEST_CASE("a false outcome never carries the attempt's result, and the true one is sent as well") {
  MachineFixture fixture{{.lie = 1}};
  fixture.connect_machine();
  fixture.acknowledge();
  for (int i = 1; i <= 40; ++i) {
    fixture.assign(i, i);
    fixture.acknowledge();
  }
  int wrong_tokens = 0, wrong_attempts = 0, absurd = 0, truths = 0;
  for (const auto& outcome : fixture.all<Outcome>()) {
    REQUIRE(outcome.files.size() == 1);
    const bool is_false = outcome.attempt.token != "token" || outcome.attempt.name.number != 1;
    CHECK((outcome.files[0].bytes == result_of(outcome.attempt.name, 1000)) != is_false);
    wrong_tokens += outcome.attempt.token != "token" ? 1 : 0;
    wrong_attempts += outcome.attempt.name.number != 1 ? 1 : 0;
    absurd += outcome.cpu_ms > 1'000'000'000 ? 1 : 0;
    truths += is_false ? 0 : 1;
  }
  const int twice = truths - 40;
  CHECK(wrong_tokens > 0);
  CHECK(wrong_attempts > 0);
  CHECK(twice > 0);
  CHECK(absurd > 0);
  CHECK(wrong_tokens + wrong_attempts + twice + absurd == 40);
  CHECK(fixture.report.completed == 40);
}

TEST_CASE("a machine that vanishes reconnects with its attempts or without") {
  for (const double amnesia : {0.0, 1.0}) {
    MachineFixture fixture{
        {.job_ms = 60'000, .job_ms_max = 60'000, .vanish = 1, .amnesia = amnesia, .vanish_ms = 3000}};
    fixture.connect_machine();
    fixture.assign(1, 1);
    while (fixture.aborts == 0) fixture.pass(10ms);
    CHECK(fixture.connects == 1);
    fixture.pass(2500ms);
    CHECK(fixture.connects == 1);
    fixture.pass(600ms);
    CHECK(fixture.connects == 2);
    fixture.machine.on_connected(fixture.now);
    CHECK(fixture.all<Hello>().back().attempts.size() == (amnesia == 0 ? 1 : 0));
  }
}

TEST_CASE("a frozen machine sends nothing, and its messages follow afterwards") {
  MachineFixture fixture{{.job_ms = 20, .job_ms_max = 20, .freeze = 1, .freeze_ms = 5000}};
  fixture.connect_machine();
  while (!fixture.frozen) fixture.pass(1ms);
  const auto sent = fixture.sent.size();
  fixture.receive(Assign{{MachineFixture::assignment(1)}});
  fixture.machine.send_pending(fixture.now);
  fixture.pass(4900ms);
  CHECK(fixture.frozen);
  CHECK(fixture.sent.size() == sent);
  fixture.pass(200ms);
  CHECK_FALSE(fixture.frozen);
  CHECK(fixture.all<Accept>().size() == 1);
}

TEST_CASE("the same seed makes the same choices") {
  const auto kinds = [] {
    MachineFixture fixture{{.refuse = 0.2, .handback = 0.3, .fail = 0.3}};
    fixture.connect_machine();
    std::vector<AttemptOutcome> drawn;
    for (int i = 1; i <= 30; ++i) {
      fixture.assign(i, i);
      fixture.acknowledge();
    }
    for (const auto& outcome : fixture.all<Outcome>()) drawn.push_back(outcome.kind);
    return drawn;
  };
  CHECK(kinds() == kinds());
}

}  // namespace remotist::bench
