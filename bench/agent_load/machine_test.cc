#include "bench/agent_load/machine.h"

#include <doctest/doctest.h>
#include <optional>

#include "bench/agent_load/machine_fixture.h"
#include "bench/agent_load/output.h"
#include "core/limits.h"

namespace remotist::bench {

using namespace std::chrono_literals;
using namespace protocol;

TEST_CASE("a machine connects with its token and sends hello without attempts") {
  MachineFixture fixture;
  fixture.connect_machine();
  CHECK(fixture.connects == 1);
  CHECK(fixture.token == "machine-token");
  REQUIRE(fixture.all<Hello>().size() == 1);
  CHECK(fixture.all<Hello>()[0].attempts.empty());
  CHECK(fixture.machine.connected());
  CHECK(fixture.sent.back().ack == 1);
}

TEST_CASE("assignments that come together are accepted together, then completed each") {
  MachineFixture fixture;
  fixture.connect_machine();
  fixture.receive(Assign{{MachineFixture::assignment(1), MachineFixture::assignment(2)}});
  fixture.receive(Assign{{MachineFixture::assignment(3)}});
  fixture.machine.send_pending(fixture.now);
  REQUIRE(fixture.all<Accept>().size() == 1);
  CHECK(fixture.all<Accept>()[0].attempts.size() == 3);
  const auto outcomes = fixture.all<Outcome>();
  REQUIRE(outcomes.size() == 3);
  CHECK(outcomes[0].attempt.token == "token");
  REQUIRE(outcomes[0].files.size() == 1);
  CHECK(outcomes[0].files[0].path == "result.rds");
  CHECK(outcomes[0].files[0].bytes == result_of({job(1), 1}, 1000));
  CHECK(fixture.report.completed == 0);
  fixture.acknowledge();
  CHECK(fixture.report.accepted == 3);
  CHECK(fixture.report.completed == 3);
  CHECK(fixture.report.breaches.empty());
}

TEST_CASE("no more than 64 messages are open, and the rest follows acknowledgements") {
  MachineFixture fixture;
  fixture.connect_machine();
  fixture.acknowledge();
  fixture.assign(1, 200);
  CHECK(fixture.open_messages == limits::kUnackedMessagesMax);
  for (int i = 0; i < 4; ++i) {
    fixture.acknowledge();
    CHECK(fixture.open_messages <= limits::kUnackedMessagesMax);
  }
  fixture.acknowledge();
  CHECK(fixture.report.completed == 200);
}

TEST_CASE("no more than 256 KiB are open") {
  MachineFixture fixture{{.result_bytes = limits::kOutcomeBytesMax}};
  fixture.connect_machine();
  fixture.assign(1, 3);
  for (int i = 0; i < 5; ++i) {
    CHECK(fixture.open_bytes <= limits::kUnackedBytesMax);
    fixture.acknowledge();
  }
  CHECK(fixture.report.completed == 3);
}

TEST_CASE("reports that were not acknowledged are sent again after a reconnect that keeps their attempt") {
  MachineFixture fixture;
  fixture.connect_machine();
  fixture.assign(1, 2);
  fixture.machine.on_closed(0, "", fixture.now);
  CHECK_FALSE(fixture.machine.connected());
  fixture.pass(1s);
  CHECK(fixture.connects == 2);
  fixture.sent.clear();
  fixture.connect_machine({{job(1), 1}}, {{job(2), 1}});
  CHECK(fixture.all<Hello>()[0].attempts.size() == 2);
  REQUIRE(fixture.all<Accept>().size() == 1);
  CHECK(fixture.all<Accept>()[0].attempts.size() == 1);
  // The other one was stopped, and its CPU time is told.
  REQUIRE(fixture.all<Outcome>().size() == 2);
  CHECK(fixture.all<Outcome>()[0].kind == AttemptOutcome::cancelled);
  CHECK(fixture.all<Outcome>()[1].attempt.name.job == job(1));
  fixture.acknowledge();
  CHECK(fixture.report.completed == 1);
  CHECK(fixture.report.stopped == 1);
  CHECK(fixture.report.reconnects == 1);
  CHECK(fixture.report.breaches.empty());
}

TEST_CASE("a job that ends while the machine is disconnected is reported after the reconnect") {
  MachineFixture fixture{{.job_ms = 100, .job_ms_max = 100}};
  fixture.connect_machine();
  fixture.assign(1, 1);
  fixture.acknowledge();
  fixture.machine.on_closed(1001, "", fixture.now);
  fixture.pass(200ms);
  fixture.sent.clear();
  fixture.connect_machine({{job(1), 1}});
  CHECK(fixture.all<Accept>().empty());
  REQUIRE(fixture.all<Outcome>().size() == 1);
  CHECK(fixture.all<Outcome>()[0].cpu_ms >= 100);
}

TEST_CASE("an outcome that the market did not accept is not counted") {
  MachineFixture fixture;
  fixture.connect_machine();
  fixture.acknowledge();
  fixture.assign(1, 3);  // hello is 1, the accept 2, the outcomes 3, 4 and 5
  fixture.receive_and_answer(
      Problem{.re = 3, .code = "stale_attempt", .detail = "", .attempt = AttemptName{job(1), 1}}, 3);
  fixture.receive_and_answer(Stop{{{job(2), 1}}, "stale_attempt"}, 4);
  CHECK(fixture.report.completed == 0);
  fixture.acknowledge();
  CHECK(fixture.report.completed == 1);
  CHECK(fixture.report.problems.at("stale_attempt") == 1);
  CHECK(fixture.report.stopped == 1);
  CHECK(fixture.report.breaches.empty());
}

TEST_CASE("a result that does not fit its owner's storage becomes a failure") {
  MachineFixture fixture;
  fixture.connect_machine();
  fixture.assign(1, 1);
  fixture.receive_and_answer(Problem{.re = 3, .code = "quota_exceeded", .detail = ""}, 3);
  REQUIRE(fixture.all<Outcome>().size() == 2);
  CHECK(fixture.all<Outcome>()[1].kind == AttemptOutcome::failed);
  CHECK(fixture.all<Outcome>()[1].failure_code == FailureCode::quota_exceeded);
  fixture.acknowledge();
  CHECK(fixture.report.failed == 1);
}

TEST_CASE("a report that a busy market did not accept is sent again later") {
  MachineFixture fixture;
  fixture.connect_machine();
  fixture.assign(1, 1);
  fixture.receive_and_answer(Problem{.re = 3, .code = "busy", .detail = ""}, 3);
  CHECK(fixture.all<Outcome>().size() == 1);
  fixture.pass(2s);
  CHECK(fixture.all<Outcome>().size() == 2);
  fixture.acknowledge();
  CHECK(fixture.report.completed == 1);
}

TEST_CASE("beats come as the welcome says and name what runs") {
  MachineFixture fixture{{.job_ms = 60'000, .job_ms_max = 60'000}};
  fixture.connect_machine();
  fixture.assign(1, 2);
  fixture.acknowledge();
  fixture.pass(29s);
  const auto beats = fixture.all<Beat>();
  CHECK(beats.size() >= 2);
  CHECK(beats.size() <= 3);
  REQUIRE(beats.back().attempts.size() == 2);
  CHECK(beats.back().attempts[0].cpu_ms > 1000);
  CHECK(fixture.machine.running_count() == 2);
}

TEST_CASE("a market that sends nothing for a lease is disconnected") {
  MachineFixture fixture{{.job_ms = 60'000, .job_ms_max = 60'000}};
  fixture.connect_machine();
  fixture.assign(1, 1);
  fixture.pass(31s);
  CHECK(fixture.aborts == 1);
  CHECK(fixture.report.closes.at("silent") == 1);
}

TEST_CASE("a stop ends a job, which is reported as cancelled") {
  MachineFixture fixture{{.job_ms = 1000, .job_ms_max = 1000}};
  fixture.connect_machine();
  fixture.assign(1, 2);
  fixture.receive_and_answer(Stop{{{job(1), 1}}, "cancelled"});
  fixture.receive_and_answer(Stop{{{job(2), 1}}, "stale_attempt"});
  fixture.pass(5s);
  REQUIRE(fixture.all<Outcome>().size() == 2);
  for (const auto& outcome : fixture.all<Outcome>()) CHECK(outcome.kind == AttemptOutcome::cancelled);
  CHECK(fixture.machine.running_count() == 0);
  CHECK(fixture.report.stopped == 2);
}

TEST_CASE("an attempt that is assigned again is accepted again, with its newer token") {
  MachineFixture fixture{{.job_ms = 1000, .job_ms_max = 1000}};
  fixture.connect_machine();
  fixture.receive_and_answer(Assign{{MachineFixture::assignment(1, "old")}});
  fixture.receive_and_answer(Assign{{MachineFixture::assignment(1, "new")}});
  REQUIRE(fixture.all<Accept>().size() == 2);
  CHECK(fixture.all<Accept>()[1].attempts[0].token == "new");
  fixture.pass(2s);
  REQUIRE(fixture.all<Outcome>().size() == 1);
  CHECK(fixture.all<Outcome>()[0].attempt.token == "new");
}

TEST_CASE("a job stops where its price is used up") {
  MachineFixture fixture{{.job_ms = 1000, .job_ms_max = 1000}};
  fixture.connect_machine();
  auto cheap = MachineFixture::assignment(1);
  cheap.cpu_ms_max = 300;
  fixture.receive_and_answer(Assign{{cheap}});
  fixture.pass(400ms);
  REQUIRE(fixture.all<Outcome>().size() == 1);
  CHECK(fixture.all<Outcome>()[0].failure_code == FailureCode::price_used_up);
  CHECK(fixture.all<Outcome>()[0].cpu_ms <= 300);
}

TEST_CASE("a large result is uploaded before its outcome, which then carries no file") {
  MachineFixture fixture{{.chunks = true}};
  fixture.connect_machine();
  fixture.assign(1, 2);
  REQUIRE(fixture.uploads.size() == 2);
  CHECK(fixture.all<Outcome>().empty());
  fixture.machine.uploaded({job(1), 1}, std::nullopt, fixture.now);
  fixture.machine.uploaded({job(2), 1}, "busy", fixture.now);
  REQUIRE(fixture.all<Outcome>().size() == 1);
  CHECK(fixture.all<Outcome>()[0].files.empty());
  fixture.pass(2s);
  CHECK(fixture.uploads.size() == 3);
  fixture.machine.uploaded({job(2), 1}, "stale_attempt", fixture.now);
  REQUIRE(fixture.all<Outcome>().size() == 2);
  CHECK(fixture.all<Outcome>()[1].kind == AttemptOutcome::cancelled);
}

TEST_CASE("a goodbye hands back what runs, and its acknowledgement ends the machine") {
  MachineFixture fixture{{.job_ms = 1000, .job_ms_max = 1000}};
  fixture.connect_machine();
  fixture.assign(1, 2);
  fixture.machine.leave(false, fixture.now);
  REQUIRE(fixture.all<Goodbye>().size() == 1);
  CHECK(fixture.all<Goodbye>()[0].attempts.size() == 2);
  CHECK_FALSE(fixture.machine.retired());
  fixture.acknowledge();
  CHECK(fixture.machine.retired());
  CHECK(fixture.closes_sent == 1);
}

TEST_CASE("a goodbye hands back no attempt whose outcome was sent, and a rude machine sends none") {
  MachineFixture fixture;
  fixture.connect_machine();
  fixture.assign(1, 1);
  fixture.machine.leave(false, fixture.now);
  CHECK(fixture.all<Goodbye>()[0].attempts.empty());
  fixture.acknowledge();
  CHECK(fixture.report.completed == 1);

  MachineFixture rude;
  rude.connect_machine();
  rude.machine.leave(true, rude.now);
  CHECK(rude.all<Goodbye>().empty());
  CHECK(rude.machine.retired());
  MachineFixture connecting;
  connecting.machine.wake(connecting.now);
  connecting.machine.leave(true, connecting.now);
  connecting.machine.on_connected(connecting.now);
  CHECK(connecting.sent.empty());
  CHECK(connecting.closes_sent == 1);
}

TEST_CASE("a rejected machine does not connect again") {
  for (const int code : {4001, 4003, 4004}) {
    MachineFixture fixture;
    fixture.connect_machine();
    fixture.machine.on_closed(code, "", fixture.now);
    CHECK(fixture.machine.retired());
  }
  MachineFixture fixture;
  fixture.machine.wake(fixture.now);
  fixture.machine.on_connect_failed(401, "", fixture.now);
  CHECK(fixture.machine.retired());
  CHECK(fixture.machine.due() == Time::max());
}

TEST_CASE("violations of the protocol by the market are counted") {
  MachineFixture fixture;
  fixture.connect_machine();
  fixture.number = 7;
  fixture.receive_and_answer(Token{"t", "never"});
  fixture.receive_and_answer(Ack{}, 99);
  fixture.receive_and_answer(Problem{.re = 1, .code = "internal", .detail = ""});
  CHECK(fixture.report.breaches.at("number") == 1);
  CHECK(fixture.report.breaches.at("ack_of_nothing") == 1);
  CHECK(fixture.report.breaches.at("problem_too_late") == 1);
  fixture.machine.on_message("{\"type\": \"nonsense\", \"seq\": 10}", fixture.now);
  CHECK(fixture.report.breaches.at("unreadable") == 1);
  CHECK(fixture.closes_sent == 1);
  CHECK_FALSE(fixture.machine.connected());
}

}  // namespace remotist::bench
