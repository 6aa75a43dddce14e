#include "bench/agent_load/machine.h"

#include <doctest/doctest.h>
#include <optional>

#include "bench/agent_load/output.h"
#include "bench/agent_load/stage.h"
#include "core/limits.h"

namespace remotist::bench {

using namespace std::chrono_literals;
using namespace protocol;

TEST_CASE("a machine connects with its token, says hello and holds nothing") {
  Stage stage;
  stage.connect();
  CHECK(stage.dials == 1);
  CHECK(stage.token == "machine-token");
  REQUIRE(stage.all<Hello>().size() == 1);
  CHECK(stage.all<Hello>()[0].attempts.empty());
  CHECK(stage.machine.connected());
  CHECK(stage.said.back().ack == 1);
}

TEST_CASE("assignments that come together are accepted together, then completed each") {
  Stage stage;
  stage.connect();
  stage.hear(Assign{{Stage::assignment(1), Stage::assignment(2)}});
  stage.hear(Assign{{Stage::assignment(3)}});
  stage.machine.speak(stage.now);
  REQUIRE(stage.all<Accept>().size() == 1);
  CHECK(stage.all<Accept>()[0].attempts.size() == 3);
  const auto outcomes = stage.all<Outcome>();
  REQUIRE(outcomes.size() == 3);
  CHECK(outcomes[0].attempt.token == "token");
  REQUIRE(outcomes[0].files.size() == 1);
  CHECK(outcomes[0].files[0].path == "result.rds");
  CHECK(outcomes[0].files[0].bytes == result_of({job(1), 1}, 1000));
  CHECK(stage.report.completed == 0);
  stage.acknowledge();
  CHECK(stage.report.accepted == 3);
  CHECK(stage.report.completed == 3);
  CHECK(stage.report.breaches.empty());
}

TEST_CASE("no more than 64 messages are open, and the rest follows acknowledgements") {
  Stage stage;
  stage.connect();
  stage.acknowledge();
  stage.assign(1, 200);
  CHECK(stage.open_messages == limits::kUnackedMessagesMax);
  for (int i = 0; i < 4; ++i) {
    stage.acknowledge();
    CHECK(stage.open_messages <= limits::kUnackedMessagesMax);
  }
  stage.acknowledge();
  CHECK(stage.report.completed == 200);
}

TEST_CASE("no more than 256 KiB are open") {
  Stage stage{{.result_bytes = limits::kOutcomeBytesMax}};
  stage.connect();
  stage.assign(1, 3);
  for (int i = 0; i < 5; ++i) {
    CHECK(stage.open_bytes <= limits::kUnackedBytesMax);
    stage.acknowledge();
  }
  CHECK(stage.report.completed == 3);
}

TEST_CASE("what was not acknowledged is said again after a reconnect, where it is kept") {
  Stage stage;
  stage.connect();
  stage.assign(1, 2);
  stage.machine.closed(0, "", stage.now);
  CHECK_FALSE(stage.machine.connected());
  stage.pass(1s);
  CHECK(stage.dials == 2);
  stage.said.clear();
  stage.connect({{job(1), 1}}, {{job(2), 1}});
  CHECK(stage.all<Hello>()[0].attempts.size() == 2);
  REQUIRE(stage.all<Accept>().size() == 1);
  CHECK(stage.all<Accept>()[0].attempts.size() == 1);
  REQUIRE(stage.all<Outcome>().size() == 1);
  CHECK(stage.all<Outcome>()[0].attempt.name.job == job(1));
  stage.acknowledge();
  CHECK(stage.report.completed == 1);
  CHECK(stage.report.stopped == 1);
  CHECK(stage.report.reconnects == 1);
  CHECK(stage.report.breaches.empty());
}

TEST_CASE("a job that ends while the machine is away is told when it is back") {
  Stage stage{{.job_ms = 100, .job_ms_max = 100}};
  stage.connect();
  stage.assign(1, 1);
  stage.acknowledge();
  stage.machine.closed(1001, "", stage.now);
  stage.pass(200ms);
  stage.said.clear();
  stage.connect({{job(1), 1}});
  CHECK(stage.all<Accept>().empty());
  REQUIRE(stage.all<Outcome>().size() == 1);
  CHECK(stage.all<Outcome>()[0].cpu_ms >= 100);
}

TEST_CASE("the pause before a reconnect doubles to half a minute, and a welcome ends that") {
  Stage stage;
  stage.machine.wake(stage.now);
  for (const auto most : {500ms, 1000ms, 2000ms, 4000ms, 8000ms, 16'000ms, 30'000ms, 30'000ms}) {
    stage.machine.not_opened(503, "full", stage.now);
    CHECK(stage.machine.due() >= stage.now + most / 2);
    CHECK(stage.machine.due() <= stage.now + most);
    stage.now = stage.machine.due();
    stage.machine.wake(stage.now);
  }
  stage.machine.opened(stage.now);
  stage.tell(
      Welcome{.session = SessionId::make(), .beat_ms = 10'000, .lease_ms = 30'000, .keep = {}, .stop = {}});
  stage.machine.closed(0, "", stage.now);
  CHECK(stage.machine.due() <= stage.now + 500ms);
}

TEST_CASE("an outcome that the market did not take is not counted") {
  Stage stage;
  stage.connect();
  stage.acknowledge();
  stage.assign(1, 3);  // hello is 1, the accept 2, the outcomes 3, 4 and 5
  stage.tell(Problem{.re = 3, .code = "stale_attempt", .detail = "", .attempt = AttemptName{job(1), 1}}, 3);
  stage.tell(Stop{{{job(2), 1}}, "stale_attempt"}, 4);
  CHECK(stage.report.completed == 0);
  stage.acknowledge();
  CHECK(stage.report.completed == 1);
  CHECK(stage.report.problems.at("stale_attempt") == 1);
  CHECK(stage.report.stopped == 1);
  CHECK(stage.report.breaches.empty());
}

TEST_CASE("a result that does not fit its owner's storage becomes a failure") {
  Stage stage;
  stage.connect();
  stage.assign(1, 1);
  stage.tell(Problem{.re = 3, .code = "quota_exceeded", .detail = ""}, 3);
  REQUIRE(stage.all<Outcome>().size() == 2);
  CHECK(stage.all<Outcome>()[1].kind == OutcomeKind::failed);
  CHECK(stage.all<Outcome>()[1].failure_code == "quota_exceeded");
  stage.acknowledge();
  CHECK(stage.report.failed == 1);
}

TEST_CASE("what a busy market did not take is said again a little later") {
  Stage stage;
  stage.connect();
  stage.assign(1, 1);
  stage.tell(Problem{.re = 3, .code = "busy", .detail = ""}, 3);
  CHECK(stage.all<Outcome>().size() == 1);
  stage.pass(2s);
  CHECK(stage.all<Outcome>().size() == 2);
  stage.acknowledge();
  CHECK(stage.report.completed == 1);
}

TEST_CASE("beats come as the welcome says and name what runs") {
  Stage stage{{.job_ms = 60'000, .job_ms_max = 60'000}};
  stage.connect();
  stage.assign(1, 2);
  stage.acknowledge();
  stage.pass(29s);
  const auto beats = stage.all<Beat>();
  CHECK(beats.size() >= 2);
  CHECK(beats.size() <= 3);
  REQUIRE(beats.back().attempts.size() == 2);
  CHECK(beats.back().attempts[0].cpu_ms > 1000);
  CHECK(stage.machine.running_count() == 2);
}

TEST_CASE("a market that is silent for a lease is left") {
  Stage stage{{.job_ms = 60'000, .job_ms_max = 60'000}};
  stage.connect();
  stage.assign(1, 1);
  stage.pass(31s);
  CHECK(stage.vanishings == 1);
  CHECK(stage.report.closes.at("silent") == 1);
}

TEST_CASE("a stop ends a job, and one that was cancelled is told so") {
  Stage stage{{.job_ms = 1000, .job_ms_max = 1000}};
  stage.connect();
  stage.assign(1, 2);
  stage.tell(Stop{{{job(1), 1}}, "cancelled"});
  stage.tell(Stop{{{job(2), 1}}, "expired"});
  stage.pass(5s);
  REQUIRE(stage.all<Outcome>().size() == 1);
  CHECK(stage.all<Outcome>()[0].kind == OutcomeKind::cancelled);
  CHECK(stage.machine.running_count() == 0);
  CHECK(stage.report.stopped == 2);
}

TEST_CASE("an attempt that is assigned again is accepted again, with its newer token") {
  Stage stage{{.job_ms = 1000, .job_ms_max = 1000}};
  stage.connect();
  stage.tell(Assign{{Stage::assignment(1, "old")}});
  stage.tell(Assign{{Stage::assignment(1, "new")}});
  REQUIRE(stage.all<Accept>().size() == 2);
  CHECK(stage.all<Accept>()[1].attempts[0].token == "new");
  stage.pass(2s);
  REQUIRE(stage.all<Outcome>().size() == 1);
  CHECK(stage.all<Outcome>()[0].attempt.token == "new");
}

TEST_CASE("a machine that waits for its accept begins with the acknowledgement") {
  Stage stage{{.wait_for_ack = true}};
  stage.connect();
  stage.assign(1, 1);
  CHECK(stage.all<Outcome>().empty());
  stage.acknowledge();
  CHECK(stage.all<Outcome>().size() == 1);
}

TEST_CASE("a job stops where its price is used up") {
  Stage stage{{.job_ms = 1000, .job_ms_max = 1000}};
  stage.connect();
  auto cheap = Stage::assignment(1);
  cheap.cpu_ms_max = 300;
  stage.tell(Assign{{cheap}});
  stage.pass(400ms);
  REQUIRE(stage.all<Outcome>().size() == 1);
  CHECK(stage.all<Outcome>()[0].failure_code == "price_used_up");
  CHECK(stage.all<Outcome>()[0].cpu_ms <= 300);
}

TEST_CASE("a large result is uploaded before its outcome, which then carries no file") {
  Stage stage{{.chunks = true}};
  stage.connect();
  stage.assign(1, 2);
  REQUIRE(stage.uploads.size() == 2);
  CHECK(stage.all<Outcome>().empty());
  stage.machine.uploaded({job(1), 1}, std::nullopt, stage.now);
  stage.machine.uploaded({job(2), 1}, "busy", stage.now);
  REQUIRE(stage.all<Outcome>().size() == 1);
  CHECK(stage.all<Outcome>()[0].files.empty());
  stage.pass(2s);
  CHECK(stage.uploads.size() == 3);
  stage.machine.uploaded({job(2), 1}, "stale_attempt", stage.now);
  CHECK(stage.all<Outcome>().size() == 1);
}

TEST_CASE("a goodbye hands back what runs, and its acknowledgement ends the machine") {
  Stage stage{{.job_ms = 1000, .job_ms_max = 1000}};
  stage.connect();
  stage.assign(1, 2);
  stage.machine.leave(false, stage.now);
  REQUIRE(stage.all<Goodbye>().size() == 1);
  CHECK(stage.all<Goodbye>()[0].attempts.size() == 2);
  CHECK_FALSE(stage.machine.retired());
  stage.acknowledge();
  CHECK(stage.machine.retired());
  CHECK(stage.farewells == 1);
}

TEST_CASE("a goodbye does not take back what is said, and a rude machine says none") {
  Stage stage;
  stage.connect();
  stage.assign(1, 1);
  stage.machine.leave(false, stage.now);
  CHECK(stage.all<Goodbye>()[0].attempts.empty());
  stage.acknowledge();
  CHECK(stage.report.completed == 1);

  Stage rude;
  rude.connect();
  rude.machine.leave(true, rude.now);
  CHECK(rude.all<Goodbye>().empty());
  CHECK(rude.machine.retired());
}

TEST_CASE("a machine that is not wanted any more does not come back") {
  for (const int code : {4001, 4003, 4004}) {
    Stage stage;
    stage.connect();
    stage.machine.closed(code, "", stage.now);
    CHECK(stage.machine.retired());
  }
  Stage stage;
  stage.machine.wake(stage.now);
  stage.machine.not_opened(401, "", stage.now);
  CHECK(stage.machine.retired());
  CHECK(stage.machine.due() == Time::max());
}

TEST_CASE("what the market does against the protocol is counted") {
  Stage stage;
  stage.connect();
  stage.number = 7;
  stage.tell(Token{"t", "never"});
  stage.tell(Ack{}, 99);
  stage.tell(Problem{.re = 1, .code = "internal", .detail = ""});
  CHECK(stage.report.breaches.at("number") == 1);
  CHECK(stage.report.breaches.at("ack_of_nothing") == 1);
  CHECK(stage.report.breaches.at("problem_too_late") == 1);
  stage.machine.heard("{\"type\": \"nonsense\", \"seq\": 10}", stage.now);
  CHECK(stage.report.breaches.at("unreadable") == 1);
  CHECK(stage.farewells == 1);
  CHECK_FALSE(stage.machine.connected());
}

}  // namespace remotist::bench
