// Machines that misbehave, each in the way it was told to.
#include <algorithm>
#include <doctest/doctest.h>

#include "bench/agent_load/output.h"
#include "bench/agent_load/stage.h"

namespace remotist::bench {

using namespace std::chrono_literals;
using namespace protocol;

TEST_CASE("an attempt that is lost is named no more and has no outcome") {
  Stage stage{{.job_ms = 1000, .job_ms_max = 1000, .lose = 1}};
  stage.connect();
  stage.assign(1, 2);
  stage.acknowledge();
  stage.pass(15s);
  CHECK(stage.all<Accept>().size() == 1);
  REQUIRE_FALSE(stage.all<Beat>().empty());
  CHECK(stage.all<Beat>().back().attempts.empty());
  CHECK(stage.all<Outcome>().empty());
  CHECK(stage.report.lost == 2);
}

TEST_CASE("a machine refuses, and says so again until that is acknowledged") {
  Stage stage{{.refuse = 1}};
  stage.connect();
  stage.assign(1, 2);
  REQUIRE(stage.all<Refuse>().size() == 1);
  CHECK(stage.all<Refuse>()[0].attempts.size() == 2);
  CHECK(stage.all<Accept>().empty());
  stage.machine.closed(0, "", stage.now);
  stage.pass(1s);
  stage.connect({{job(1), 1}, {job(2), 1}});
  CHECK(stage.all<Refuse>().size() == 2);
  stage.acknowledge();
  CHECK(stage.report.refused == 2);
}

TEST_CASE("a machine fails or hands back") {
  Stage failing{{.fail = 1}};
  failing.connect();
  failing.assign(1, 1);
  CHECK(failing.all<Outcome>()[0].failure_code == "r_error");
  CHECK(failing.all<Outcome>()[0].files.empty());
  Stage returning{{.handback = 1}};
  returning.connect();
  returning.assign(1, 1);
  CHECK(returning.all<Outcome>()[0].kind == OutcomeKind::handed_back);
}

TEST_CASE("accepts and outcomes are delayed") {
  Stage stage{{.delay_accept_ms = 100, .delay_outcome_ms = 200}};
  stage.connect();
  stage.assign(1, 2);
  stage.pass(99ms);
  CHECK(stage.all<Accept>().empty());
  stage.pass(1ms);
  CHECK_FALSE(stage.all<Accept>().empty());
  stage.pass(199ms);
  CHECK(stage.all<Outcome>().empty());
  stage.pass(1ms);
  CHECK(stage.all<Outcome>().size() == 2);
}

TEST_CASE("a false outcome never carries the attempt's result, and the truth is told beside it") {
  Stage stage{{.lie = 1}};
  stage.connect();
  stage.acknowledge();
  for (int i = 1; i <= 40; ++i) {
    stage.assign(i, i);
    stage.acknowledge();
  }
  int wrong_tokens = 0, wrong_attempts = 0, absurd = 0, truths = 0;
  for (const auto& outcome : stage.all<Outcome>()) {
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
  CHECK(stage.report.completed == 40);
}

TEST_CASE("a machine that vanishes comes back with its memory or without") {
  for (const double amnesia : {0.0, 1.0}) {
    Stage stage{{.job_ms = 60'000, .job_ms_max = 60'000, .vanish = 1, .amnesia = amnesia, .vanish_ms = 3000}};
    stage.connect();
    stage.assign(1, 1);
    while (stage.vanishings == 0) stage.pass(10ms);
    CHECK(stage.dials == 1);
    stage.pass(2500ms);
    CHECK(stage.dials == 1);
    stage.pass(600ms);
    CHECK(stage.dials == 2);
    stage.machine.opened(stage.now);
    CHECK(stage.all<Hello>().back().attempts.size() == (amnesia == 0 ? 1 : 0));
  }
}

TEST_CASE("a frozen machine says nothing, and thereafter what it had to say") {
  Stage stage{{.job_ms = 20, .job_ms_max = 20, .freeze = 1, .freeze_ms = 5000}};
  stage.connect();
  while (!stage.frozen) stage.pass(1ms);
  const auto said = stage.said.size();
  stage.hear(Assign{{Stage::assignment(1)}});
  stage.machine.speak(stage.now);
  stage.pass(4900ms);
  CHECK(stage.frozen);
  CHECK(stage.said.size() == said);
  stage.pass(200ms);
  CHECK_FALSE(stage.frozen);
  CHECK(stage.all<Accept>().size() == 1);
}

TEST_CASE("the same seed makes the same choices") {
  const auto kinds = [] {
    Stage stage{{.refuse = 0.2, .handback = 0.3, .fail = 0.3}};
    stage.connect();
    std::vector<OutcomeKind> drawn;
    for (int i = 1; i <= 30; ++i) {
      stage.assign(i, i);
      stage.acknowledge();
    }
    for (const auto& outcome : stage.all<Outcome>()) drawn.push_back(outcome.kind);
    return drawn;
  };
  CHECK(kinds() == kinds());
}

}  // namespace remotist::bench
