#include "volunteer/agent/attempts.h"

#include "volunteer/agent/agent_fixture.h"

namespace remotist::volunteer {

using namespace std::chrono_literals;

TEST_CASE(
    "an attempt is accepted, fetched, run, delivered and reported, and removed when that is acknowledged") {
  AgentFixture agent;
  agent.connect_session();
  agent.assign(1);
  REQUIRE(agent.all<protocol::Accept>().size() == 1);
  CHECK(agent.fetches.size() == 1);
  agent.attempts.on_fetched(AgentFixture::name(1), {}, agent.now);
  REQUIRE(agent.runs.size() == 1);
  agent.end(1, {.ending = Ending::completed, .cpu_ms = 50});
  REQUIRE(agent.deliveries.size() == 1);
  CHECK(agent.all<protocol::Outcome>().empty());
  agent.deliver_all(1);
  const auto outcomes = agent.all<protocol::Outcome>();
  REQUIRE(outcomes.size() == 1);
  CHECK(outcomes[0].kind == AttemptOutcome::completed);
  CHECK(outcomes[0].cpu_ms == 50);
  CHECK(outcomes[0].files.size() == 1);
  CHECK(agent.attempts.count() == 1);
  agent.acknowledge();
  CHECK(agent.attempts.count() == 0);
  CHECK(agent.drops == std::vector{AgentFixture::name(1)});
}

TEST_CASE("each way a guest ends has one outcome") {
  struct Case {
    Verdict verdict;
    AttemptOutcome kind;
    std::optional<FailureCode> code;
  };
  const std::vector<Case> cases{
      {{.ending = Ending::r_error, .message = "no"}, AttemptOutcome::failed, FailureCode::r_error},
      {{.ending = Ending::limit, .limit = Limit::cpu}, AttemptOutcome::failed, FailureCode::price_used_up},
      {{.ending = Ending::limit, .limit = Limit::ram}, AttemptOutcome::failed, FailureCode::limit_ram},
      {{.ending = Ending::limit, .limit = Limit::disc}, AttemptOutcome::failed, FailureCode::limit_disc},
      {{.ending = Ending::limit, .limit = Limit::inodes}, AttemptOutcome::failed, FailureCode::limit_inodes},
      {{.ending = Ending::limit, .limit = Limit::frames}, AttemptOutcome::failed, FailureCode::limit_frames},
      {{.ending = Ending::killed, .message = "SIGSEGV"}, AttemptOutcome::failed, FailureCode::killed},
      {{.ending = Ending::sandbox_failure}, AttemptOutcome::handed_back, std::nullopt},
  };
  for (const auto& each : cases) {
    CAPTURE(each.code ? name_of(*each.code) : "none");
    AgentFixture agent;
    agent.connect_session();
    agent.begin(1);
    agent.end(1, each.verdict);
    if (each.kind == AttemptOutcome::failed) agent.deliver_all(1);
    const auto outcomes = agent.all<protocol::Outcome>();
    REQUIRE(outcomes.size() == 1);
    CHECK(outcomes[0].kind == each.kind);
    CHECK(outcomes[0].failure_code == each.code);
  }
}

TEST_CASE("a transfer that fails for a while is tried again, one that fails for good hands the job back") {
  AgentFixture agent;
  agent.connect_session();
  agent.assign(1);
  agent.attempts.on_fetched(AgentFixture::name(1), {"no_answer", "nobody there"}, agent.now);
  CHECK(agent.fetches.size() == 1);
  agent.pass(2s);
  CHECK(agent.fetches.size() == 2);
  agent.attempts.on_fetched(AgentFixture::name(1),
                            {"commit_in_doubt", "the market ended while it worked on this"}, agent.now);
  agent.pass(3s);
  CHECK(agent.fetches.size() == 3);
  agent.attempts.on_fetched(AgentFixture::name(1), {"damaged", "not JSON"}, agent.now);
  agent.session.send_pending(agent.now);
  REQUIRE(agent.all<protocol::Outcome>().size() == 1);
  CHECK(agent.all<protocol::Outcome>()[0].kind == AttemptOutcome::handed_back);
}

TEST_CASE("a transfer that is refused as stale ends the attempt, unless it has a new token by now") {
  AgentFixture agent;
  agent.connect_session();
  agent.assign(1);
  agent.assign(1, "newer");
  agent.attempts.on_fetched(AgentFixture::name(1), {"stale_attempt", "old"}, agent.now);
  CHECK(agent.attempts.count() == 1);
  agent.pass(2s);
  REQUIRE(agent.fetches.size() == 2);
  CHECK(agent.fetches[1].attempt.token == "newer");
  agent.attempts.on_fetched(AgentFixture::name(1), {"stale_attempt", "old"}, agent.now);
  CHECK(agent.attempts.count() == 0);
}

TEST_CASE("a result that does not fit its owner's storage fails the job without its files") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.end(1, {.ending = Ending::completed});
  agent.deliver_all(1, {"quota_exceeded", "no room"});
  REQUIRE(agent.all<protocol::Outcome>().size() == 1);
  CHECK(agent.all<protocol::Outcome>()[0].failure_code == FailureCode::quota_exceeded);
  CHECK(agent.all<protocol::Outcome>()[0].files.empty());
}

TEST_CASE("a job whose results this machine's disc lost is run again elsewhere, however it ended") {
  for (const auto ending : {Ending::completed, Ending::r_error, Ending::limit}) {
    AgentFixture agent;
    agent.connect_session();
    agent.begin(1);
    agent.end(
        1, {.ending = ending, .limit = ending == Ending::limit ? std::optional{Limit::disc} : std::nullopt});
    agent.deliver_all(1, {"lost_writes", "the disc is full"});
    REQUIRE(agent.all<protocol::Outcome>().size() == 1);
    CHECK(agent.all<protocol::Outcome>()[0].kind == AttemptOutcome::handed_back);
    CHECK_FALSE(agent.all<protocol::Outcome>()[0].failure_code);
    CHECK(agent.all<protocol::Outcome>()[0].files.empty());
  }
}

TEST_CASE("a job whose own files are larger than its disc fails, and is not run anywhere else") {
  AgentFixture agent;
  agent.connect_session();
  agent.assign(1);
  agent.attempts.on_fetched(AgentFixture::name(1), {"limit_disc", "too large"}, agent.now);
  agent.session.send_pending(agent.now);
  REQUIRE(agent.all<protocol::Outcome>().size() == 1);
  CHECK(agent.all<protocol::Outcome>()[0].failure_code == FailureCode::limit_disc);
}

TEST_CASE("an attempt that is stopped is dropped at once, and a cancelled run reports its CPU time") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.receive(protocol::Stop{{AgentFixture::name(1)}, "cancelled"});
  CHECK(agent.drops.size() == 1);
  CHECK(agent.attempts.count() == 0);
  REQUIRE(agent.all<protocol::Outcome>().size() == 1);
  CHECK(agent.all<protocol::Outcome>()[0].kind == AttemptOutcome::cancelled);
  CHECK(agent.all<protocol::Outcome>()[0].cpu_ms == 1234);
  agent.end(1, {.ending = Ending::cancelled});
  CHECK(agent.all<protocol::Outcome>().size() == 1);
}

TEST_CASE("whatever stops a run, its CPU time is reported, unless the market has it already") {
  for (const char* reason : {"expired", "stale_attempt"}) {
    AgentFixture agent;
    agent.connect_session();
    agent.begin(1);
    agent.receive(protocol::Stop{{AgentFixture::name(1)}, reason});
    REQUIRE(agent.all<protocol::Outcome>().size() == 1);
    CHECK(agent.all<protocol::Outcome>()[0].kind == AttemptOutcome::cancelled);
    CHECK(agent.all<protocol::Outcome>()[0].cpu_ms == 1234);
    // A stop that answers the outcome, or comes late, is about an attempt that is gone.
    agent.receive(protocol::Stop{{AgentFixture::name(1)}, "stale_attempt"});
    agent.receive(protocol::Stop{{AgentFixture::name(1)}, "cancelled"});
    CHECK(agent.all<protocol::Outcome>().size() == 1);
  }
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.receive(protocol::Stop{{AgentFixture::name(1)}, "unreportable"});
  agent.assign(2);
  agent.receive(protocol::Stop{{AgentFixture::name(2)}, "cancelled"});  // it has not begun
  agent.begin(3);
  agent.end(3, {.ending = Ending::completed, .cpu_ms = 70});
  agent.deliver_all(3);
  agent.receive(protocol::Stop{{AgentFixture::name(3)}, "stale_attempt"});
  REQUIRE(agent.all<protocol::Outcome>().size() == 1);
  CHECK(agent.all<protocol::Outcome>()[0].kind == AttemptOutcome::completed);
}

TEST_CASE("an attempt that is found to be over while its result is uploaded reports its CPU time") {
  for (const char* code : {"stale_attempt", "wrong_state", "not_found", "forbidden"}) {
    AgentFixture agent;
    agent.connect_session();
    agent.begin(1);
    agent.end(1, {.ending = Ending::completed, .cpu_ms = 70});
    agent.deliver_all(1, {code, "the job was cancelled"});
    CHECK(agent.attempts.count() == 0);
    REQUIRE(agent.all<protocol::Outcome>().size() == 1);
    CHECK(agent.all<protocol::Outcome>()[0].kind == AttemptOutcome::cancelled);
    CHECK(agent.all<protocol::Outcome>()[0].cpu_ms == 70);
  }
}

TEST_CASE("a newer attempt of a job ends the older one on this machine") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.receive(protocol::Assign{{AgentFixture::assignment(1, "token", 2)}});
  CHECK(agent.drops == std::vector{AgentFixture::name(1, 1)});
  CHECK(agent.attempts.count() == 1);
}

TEST_CASE("assignments beyond the limit are refused") {
  AgentFixture agent;
  agent.connect_session();
  for (int i = 1; i <= 5; ++i) agent.assign(i);
  CHECK(agent.fetches.size() == 4);
  REQUIRE(agent.all<protocol::Refuse>().size() == 1);
  agent.acknowledge();
  CHECK(agent.attempts.count() == 4);
}

TEST_CASE("of several reports of progress the newest is sent") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.pass(1s);
  agent.attempts.on_progress(AgentFixture::name(1), 0.1, "one");
  agent.attempts.on_progress(AgentFixture::name(1), 0.2, "two");
  agent.session.send_pending(agent.now);
  agent.pass(1s);
  const auto sent = agent.all<protocol::Progress>();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].fraction == 0.2);
  CHECK(sent[0].message == "two");
}

TEST_CASE("texts of a job are cleaned before they are sent: no character of them breaks the protocol") {
  using namespace std::string_literals;
  for (const auto& text :
       {"zero \0 byte"s, "\x1b[2J\x7f\xc2\x85"s, "\xff\xc3"s, std::string(100'000, '\x01')}) {
    AgentFixture agent;  // it reads every message as a market does
    agent.connect_session();
    agent.begin(1);
    agent.pass(1s);
    agent.attempts.on_progress(AgentFixture::name(1), 0.5, text);
    agent.attempts.on_watched_record(
        AgentFixture::name(1),
        {.record = {.number = 1, .changes = 1, .kind = WatchedKind::problem, .words = text}}, agent.now);
    agent.session.send_pending(agent.now);
    agent.pass(1s);
    agent.acknowledge();
    agent.end(1, {.ending = Ending::r_error, .message = text});
    agent.deliver_all(1);
    CHECK(agent.all<protocol::Progress>().size() == 1);
    CHECK(agent.all<protocol::WatchedRecords>().size() == 1);
    REQUIRE(agent.all<protocol::Outcome>().size() == 1);
    CHECK(agent.all<protocol::Outcome>()[0].failure_code == FailureCode::r_error);
    CHECK_FALSE(agent.all<protocol::Outcome>()[0].failure_detail.empty());
  }
}

TEST_CASE(
    "an outcome that the market could not read is not sent: the job fails as unreportable, with the reason") {
  for (const char* path : {"a\\b", "a\nb", "../b"}) {
    AgentFixture agent;
    agent.connect_session();
    agent.begin(1);
    agent.end(1, {.ending = Ending::completed, .cpu_ms = 70});
    agent.attempts.on_delivered(AgentFixture::name(1), {},
                                {{"output", "result.rds", "x"}, {"files", path, "x"}}, agent.now);
    agent.session.send_pending(agent.now);
    const auto outcomes = agent.all<protocol::Outcome>();
    REQUIRE(outcomes.size() == 1);
    CHECK(outcomes[0].kind == AttemptOutcome::failed);
    CHECK(outcomes[0].failure_code == FailureCode::unreportable);
    CHECK(outcomes[0].failure_detail.contains("path"));
    CHECK(outcomes[0].cpu_ms == 70);
    CHECK(outcomes[0].files.empty());
    agent.acknowledge();
    CHECK(agent.attempts.count() == 0);
  }
}

TEST_CASE(
    "an outcome that the market rejects is replaced by a failure, and removed when that is rejected too") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.end(1, {.ending = Ending::completed});
  agent.deliver_all(1);
  agent.receive(protocol::Problem{agent.last, "invalid_field", "no such path", AgentFixture::name(1)},
                agent.last);
  REQUIRE(agent.all<protocol::Outcome>().size() == 2);
  CHECK(agent.all<protocol::Outcome>()[1].failure_code == FailureCode::unreportable);
  CHECK(agent.all<protocol::Outcome>()[1].failure_detail.contains("no such path"));
  CHECK(agent.attempts.count() == 1);
  agent.receive(protocol::Problem{agent.last, "invalid_field", "still not", AgentFixture::name(1)},
                agent.last);
  CHECK(agent.all<protocol::Outcome>().size() == 2);
  CHECK(agent.attempts.count() == 0);
}

TEST_CASE("results that the market rejects over REST fail the job, which no other machine runs again") {
  for (const char* code : {"invalid_field", "malformed_request", "chunks_missing"}) {
    AgentFixture agent;
    agent.connect_session();
    agent.begin(1);
    agent.end(1, {.ending = Ending::completed, .cpu_ms = 70});
    agent.deliver_all(1, {code, "a path"});
    REQUIRE(agent.all<protocol::Outcome>().size() == 1);
    CHECK(agent.all<protocol::Outcome>()[0].kind == AttemptOutcome::failed);
    CHECK(agent.all<protocol::Outcome>()[0].failure_code == FailureCode::unreportable);
    CHECK(agent.all<protocol::Outcome>()[0].cpu_ms == 70);
  }
}

TEST_CASE("a job whose file paths conflict fails, and is not run anywhere else") {
  AgentFixture agent;
  agent.connect_session();
  agent.assign(1);
  agent.attempts.on_fetched(AgentFixture::name(1), {"invalid_files", "a and a/b"}, agent.now);
  agent.session.send_pending(agent.now);
  REQUIRE(agent.all<protocol::Outcome>().size() == 1);
  CHECK(agent.all<protocol::Outcome>()[0].failure_code == FailureCode::invalid_files);
}

}  // namespace remotist::volunteer
