#include "volunteer/agent/jobs.h"

#include "volunteer/agent/stage.h"

namespace remotist::volunteer {

using namespace std::chrono_literals;
using protocol::OutcomeKind;

TEST_CASE(
    "an attempt is accepted, fetched, run, delivered and told, and forgotten once that is acknowledged") {
  Stage stage;
  stage.connect();
  stage.assign(1);
  REQUIRE(stage.all<protocol::Accept>().size() == 1);
  CHECK(stage.fetches.size() == 1);
  stage.jobs.fetched(Stage::name(1), {}, stage.now);
  REQUIRE(stage.runs.size() == 1);
  stage.end(1, {.ending = Ending::completed, .cpu_ms = 50});
  REQUIRE(stage.deliveries.size() == 1);
  CHECK(stage.all<protocol::Outcome>().empty());
  stage.deliver_all(1);
  const auto outcomes = stage.all<protocol::Outcome>();
  REQUIRE(outcomes.size() == 1);
  CHECK(outcomes[0].kind == OutcomeKind::completed);
  CHECK(outcomes[0].cpu_ms == 50);
  CHECK(outcomes[0].files.size() == 1);
  CHECK(stage.jobs.count() == 1);
  stage.acknowledge();
  CHECK(stage.jobs.count() == 0);
  CHECK(stage.drops == std::vector{Stage::name(1)});
}

TEST_CASE("each way a guest ends has one outcome") {
  struct Case {
    Verdict verdict;
    OutcomeKind kind;
    std::string code;
  };
  const std::vector<Case> cases{
      {{.ending = Ending::r_error, .message = "no"}, OutcomeKind::failed, "r_error"},
      {{.ending = Ending::limit, .limit = "cpu"}, OutcomeKind::failed, "price_used_up"},
      {{.ending = Ending::limit, .limit = "ram"}, OutcomeKind::failed, "limit_ram"},
      {{.ending = Ending::killed, .message = "SIGSEGV"}, OutcomeKind::failed, "killed"},
      {{.ending = Ending::sandbox_failure}, OutcomeKind::handed_back, ""},
  };
  for (const auto& each : cases) {
    CAPTURE(each.code);
    Stage stage;
    stage.connect();
    stage.begin(1);
    stage.end(1, each.verdict);
    if (each.kind == OutcomeKind::failed) stage.deliver_all(1);
    const auto outcomes = stage.all<protocol::Outcome>();
    REQUIRE(outcomes.size() == 1);
    CHECK(outcomes[0].kind == each.kind);
    CHECK(outcomes[0].failure_code == each.code);
  }
}

TEST_CASE("a transfer that fails for a while is tried again, one that fails for good hands the job back") {
  Stage stage;
  stage.connect();
  stage.assign(1);
  stage.jobs.fetched(Stage::name(1), {"no_answer", "nobody there"}, stage.now);
  CHECK(stage.fetches.size() == 1);
  stage.pass(2s);
  CHECK(stage.fetches.size() == 2);
  stage.jobs.fetched(Stage::name(1), {"commit_in_doubt", "the market ended while it worked on this"},
                     stage.now);
  stage.pass(3s);
  CHECK(stage.fetches.size() == 3);
  stage.jobs.fetched(Stage::name(1), {"damaged", "not JSON"}, stage.now);
  stage.session.speak(stage.now);
  REQUIRE(stage.all<protocol::Outcome>().size() == 1);
  CHECK(stage.all<protocol::Outcome>()[0].kind == OutcomeKind::handed_back);
}

TEST_CASE("a transfer that is refused as stale ends the attempt, unless it has a new token by now") {
  Stage stage;
  stage.connect();
  stage.assign(1);
  stage.assign(1, "newer");
  stage.jobs.fetched(Stage::name(1), {"stale_attempt", "old"}, stage.now);
  CHECK(stage.jobs.count() == 1);
  stage.pass(2s);
  REQUIRE(stage.fetches.size() == 2);
  CHECK(stage.fetches[1].attempt.token == "newer");
  stage.jobs.fetched(Stage::name(1), {"stale_attempt", "old"}, stage.now);
  CHECK(stage.jobs.count() == 0);
}

TEST_CASE("a result that does not fit its owner's storage fails the job without its files") {
  Stage stage;
  stage.connect();
  stage.begin(1);
  stage.end(1, {.ending = Ending::completed});
  stage.deliver_all(1, {"quota_exceeded", "no room"});
  REQUIRE(stage.all<protocol::Outcome>().size() == 1);
  CHECK(stage.all<protocol::Outcome>()[0].failure_code == "quota_exceeded");
  CHECK(stage.all<protocol::Outcome>()[0].files.empty());
}

TEST_CASE("a job whose results this machine's disc lost is run again elsewhere, however it ended") {
  for (const auto ending : {Ending::completed, Ending::r_error, Ending::limit}) {
    Stage stage;
    stage.connect();
    stage.begin(1);
    stage.end(1, {.ending = ending, .limit = ending == Ending::limit ? "disc" : ""});
    stage.deliver_all(1, {"lost_writes", "the disc is full"});
    REQUIRE(stage.all<protocol::Outcome>().size() == 1);
    CHECK(stage.all<protocol::Outcome>()[0].kind == OutcomeKind::handed_back);
    CHECK(stage.all<protocol::Outcome>()[0].failure_code.empty());
    CHECK(stage.all<protocol::Outcome>()[0].files.empty());
  }
}

TEST_CASE("a job whose own files are larger than its disc fails, and is not run anywhere else") {
  Stage stage;
  stage.connect();
  stage.assign(1);
  stage.jobs.fetched(Stage::name(1), {"limit_disc", "too large"}, stage.now);
  stage.session.speak(stage.now);
  REQUIRE(stage.all<protocol::Outcome>().size() == 1);
  CHECK(stage.all<protocol::Outcome>()[0].failure_code == "limit_disc");
}

TEST_CASE("what is told to stop is dropped at once, and a cancelled run says what it has cost") {
  Stage stage;
  stage.connect();
  stage.begin(1);
  stage.tell(protocol::Stop{{Stage::name(1)}, "cancelled"});
  CHECK(stage.drops.size() == 1);
  CHECK(stage.jobs.count() == 0);
  REQUIRE(stage.all<protocol::Outcome>().size() == 1);
  CHECK(stage.all<protocol::Outcome>()[0].kind == OutcomeKind::cancelled);
  CHECK(stage.all<protocol::Outcome>()[0].cpu_ms == 1234);
  stage.end(1, {.ending = Ending::cancelled});
  CHECK(stage.all<protocol::Outcome>().size() == 1);
}

TEST_CASE("an expired run says what it has cost, one that another machine has does not") {
  Stage stage;
  stage.connect();
  stage.begin(1);
  stage.begin(2);
  stage.tell(protocol::Stop{{Stage::name(1)}, "expired"});
  REQUIRE(stage.all<protocol::Outcome>().size() == 1);
  CHECK(stage.all<protocol::Outcome>()[0].kind == OutcomeKind::cancelled);
  CHECK(stage.all<protocol::Outcome>()[0].cpu_ms == 1234);
  // Another machine has it: nothing is paid for.
  stage.tell(protocol::Stop{{Stage::name(2)}, "stale_attempt"});
  CHECK(stage.all<protocol::Outcome>().size() == 1);
}

TEST_CASE("a newer attempt of a job ends the older one on this machine") {
  Stage stage;
  stage.connect();
  stage.begin(1);
  stage.tell(protocol::Assign{{Stage::assignment(1, "token", 2)}});
  CHECK(stage.drops == std::vector{Stage::name(1, 1)});
  CHECK(stage.jobs.count() == 1);
}

TEST_CASE("more than the machine can hold is refused") {
  Stage stage;
  stage.connect();
  for (int i = 1; i <= 5; ++i) stage.assign(i);
  CHECK(stage.fetches.size() == 4);
  REQUIRE(stage.all<protocol::Refuse>().size() == 1);
  stage.acknowledge();
  CHECK(stage.jobs.count() == 4);
}

TEST_CASE("of many reports of progress the newest is said") {
  Stage stage;
  stage.connect();
  stage.begin(1);
  stage.pass(1s);
  stage.jobs.progressed(Stage::name(1), 0.1, "one");
  stage.jobs.progressed(Stage::name(1), 0.2, "two");
  stage.session.speak(stage.now);
  stage.pass(1s);
  const auto said = stage.all<protocol::Progress>();
  REQUIRE(said.size() == 1);
  CHECK(said[0].fraction == 0.2);
  CHECK(said[0].message == "two");
}

TEST_CASE("what a job says is cleaned before it is told: no character of it breaks the protocol") {
  using namespace std::string_literals;
  for (const auto& text :
       {"zero \0 byte"s, "\x1b[2J\x7f\xc2\x85"s, "\xff\xc3"s, std::string(100'000, '\x01')}) {
    Stage stage;  // it reads all that is said as a market does
    stage.connect();
    stage.begin(1);
    stage.pass(1s);
    stage.jobs.progressed(Stage::name(1), 0.5, text);
    stage.jobs.changed(Stage::name(1),
                       {.variable = 0,
                        .number = 1,
                        .changes = 1,
                        .at_us = 0,
                        .kind = PartialValue::Kind::problem,
                        .words = text},
                       stage.now);
    stage.session.speak(stage.now);
    stage.pass(1s);
    stage.acknowledge();
    stage.end(1, {.ending = Ending::r_error, .message = text});
    stage.deliver_all(1);
    CHECK(stage.all<protocol::Progress>().size() == 1);
    CHECK(stage.all<protocol::Partials>().size() == 1);
    REQUIRE(stage.all<protocol::Outcome>().size() == 1);
    CHECK(stage.all<protocol::Outcome>()[0].failure_code == "r_error");
    CHECK_FALSE(stage.all<protocol::Outcome>()[0].failure_detail.empty());
  }
}

TEST_CASE("an outcome that the market cannot read is not said: the job fails as unreportable, and says why") {
  for (const char* path : {"a\\b", "a\nb", "../b"}) {
    Stage stage;
    stage.connect();
    stage.begin(1);
    stage.end(1, {.ending = Ending::completed, .cpu_ms = 70});
    stage.jobs.delivered(Stage::name(1), {}, {{"output", "result.rds", "x"}, {"files", path, "x"}},
                         stage.now);
    stage.session.speak(stage.now);
    const auto outcomes = stage.all<protocol::Outcome>();
    REQUIRE(outcomes.size() == 1);
    CHECK(outcomes[0].kind == OutcomeKind::failed);
    CHECK(outcomes[0].failure_code == "unreportable");
    CHECK(outcomes[0].failure_detail.contains("path"));
    CHECK(outcomes[0].cpu_ms == 70);
    CHECK(outcomes[0].files.empty());
    stage.acknowledge();
    CHECK(stage.jobs.count() == 0);
  }
}

TEST_CASE("an outcome that the market refuses ends in failed, and is forgotten when that is refused too") {
  Stage stage;
  stage.connect();
  stage.begin(1);
  stage.end(1, {.ending = Ending::completed});
  stage.deliver_all(1);
  stage.tell(protocol::Problem{stage.last, "invalid_field", "no such path", Stage::name(1)}, stage.last);
  REQUIRE(stage.all<protocol::Outcome>().size() == 2);
  CHECK(stage.all<protocol::Outcome>()[1].failure_code == "unreportable");
  CHECK(stage.all<protocol::Outcome>()[1].failure_detail.contains("no such path"));
  CHECK(stage.jobs.count() == 1);
  stage.tell(protocol::Problem{stage.last, "invalid_field", "still not", Stage::name(1)}, stage.last);
  CHECK(stage.all<protocol::Outcome>().size() == 2);
  CHECK(stage.jobs.count() == 0);
}

TEST_CASE("results that the market does not take over REST fail the job, which nobody else runs again") {
  for (const char* code : {"invalid_field", "malformed_request", "chunks_missing"}) {
    Stage stage;
    stage.connect();
    stage.begin(1);
    stage.end(1, {.ending = Ending::completed, .cpu_ms = 70});
    stage.deliver_all(1, {code, "a path"});
    REQUIRE(stage.all<protocol::Outcome>().size() == 1);
    CHECK(stage.all<protocol::Outcome>()[0].kind == OutcomeKind::failed);
    CHECK(stage.all<protocol::Outcome>()[0].failure_code == "unreportable");
    CHECK(stage.all<protocol::Outcome>()[0].cpu_ms == 70);
  }
}

TEST_CASE("a job whose files cannot stand in one folder fails, and is not run anywhere else") {
  Stage stage;
  stage.connect();
  stage.assign(1);
  stage.jobs.fetched(Stage::name(1), {"invalid_files", "a and a/b"}, stage.now);
  stage.session.speak(stage.now);
  REQUIRE(stage.all<protocol::Outcome>().size() == 1);
  CHECK(stage.all<protocol::Outcome>()[0].failure_code == "invalid_files");
}

}  // namespace remotist::volunteer
