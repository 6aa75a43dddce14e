#include "volunteer/agent/checkpoints_fixture.h"
#include "volunteer/agent/retry_policy.h"

namespace remotist::volunteer {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kFirst{limits::kCheckpointIntervalSecondsFirst};

const WatchedMark kMark{.number = 1, .kind = WatchedKind::value, .hash = "hash"};

}  // namespace

TEST_CASE("a checkpoint is asked for, uploaded, recorded, confirmed to the guest, and its file deleted") {
  CheckpointFixture it;
  auto& agent = it.agent;
  agent.pass(kFirst - 1s);
  CHECK(agent.requests.empty());
  agent.pass(1s);
  REQUIRE(agent.requests == std::vector{false});
  it.take(1);
  REQUIRE(agent.checkpoint_uploads == std::vector<std::uint64_t>{1});
  it.uploaded(1);
  REQUIRE(agent.checkpoint_records.size() == 1);
  CHECK(agent.checkpoint_records[0].number == 1);
  CHECK(agent.checkpoint_records[0].attempt_cpu_ms == 500);
  CHECK(agent.checkpoint_records[0].interval_ms > 0);
  CHECK(agent.confirms.empty());
  it.recorded(1);
  CHECK(agent.confirms == std::vector<std::uint64_t>{1});
  CHECK(agent.discards == std::vector<std::string>{"checkpoint-1"});
  const auto interval_ms = agent.checkpoint_records[0].interval_ms;
  agent.pass(std::chrono::milliseconds{interval_ms - 1});
  CHECK(agent.requests.size() == 1);
  agent.pass(1ms);
  CHECK(agent.requests.size() == 2);
}

TEST_CASE("a job whose owner wants no checkpoints is never asked for one") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.pass(1h);
  CHECK(agent.requests.empty());
}

TEST_CASE("a checkpoint that the script takes itself during an upload waits, and only the newest does") {
  CheckpointFixture it;
  it.take(1);
  it.take(2);
  it.take(3);
  CHECK(it.agent.checkpoint_uploads == std::vector<std::uint64_t>{1});
  CHECK(it.agent.discards == std::vector<std::string>{"checkpoint-2"});
  it.uploaded(1);
  it.recorded(1);
  CHECK(it.agent.checkpoint_uploads == std::vector<std::uint64_t>{1, 3});
}

TEST_CASE("a checkpoint is recorded when all records from before it are committed") {
  CheckpointFixture it;
  it.record_of(0, 1);
  it.take(1, {kMark, {}});
  it.uploaded(1);
  CHECK(it.agent.checkpoint_records.empty());
  it.agent.acknowledge();
  REQUIRE(it.agent.checkpoint_records.size() == 1);
  const auto& watched = it.agent.checkpoint_records[0].watched;
  REQUIRE(watched.size() == 2);
  CHECK(watched[0].variable == "x");
  CHECK(watched[0].number == 1);
  REQUIRE(watched[0].mark);
  CHECK(watched[0].mark->hash == "hash");
  CHECK(watched[1].number == 0);
  CHECK_FALSE(watched[1].mark);
}

TEST_CASE("a record whose value the market does not have is sent again by whoever resumes") {
  CheckpointFixture it;
  it.record_of(0, 1);
  it.take(1, {kMark});
  it.uploaded(1);
  it.agent.receive(protocol::Problem{it.agent.last, "quota_exceeded", "full", it.name});
  REQUIRE(it.agent.checkpoint_records.size() == 1);
  CHECK(it.agent.checkpoint_records[0].watched[0].number == 1);
  CHECK_FALSE(it.agent.checkpoint_records[0].watched[0].mark);
}

TEST_CASE("an upload and a recording go on after an outage of the market, however long it is") {
  CheckpointFixture it;
  it.take(1);
  for (int i = 0; i < 3 * kTransferFailuresMax; ++i) {
    it.uploaded(1, {"no_answer", "nobody there"});
    it.agent.pass(31s);
    CHECK(it.agent.checkpoint_uploads.size() == static_cast<std::size_t>(i) + 2);
  }
  it.uploaded(1);
  for (int i = 0; i < 3 * kTransferFailuresMax; ++i) {
    it.recorded(1, {"busy", "too much"});
    it.agent.pass(31s);
    REQUIRE(it.agent.checkpoint_records.size() == static_cast<std::size_t>(i) + 2);
    CHECK(it.agent.checkpoint_records.back().number == 1);
  }
  it.recorded(1);
  CHECK(it.agent.confirms.size() == 1);
  CHECK(it.agent.attempts.count() == 1);
}

TEST_CASE("chunks that the market has lost meanwhile are uploaded again, but not for ever") {
  CheckpointFixture it;
  it.take(1);
  it.uploaded(1);
  for (int i = 0; i < kTransferFailuresMax; ++i) {
    it.recorded(1, {"chunks_missing", "gone"});
    it.agent.pass(31s);
    REQUIRE(it.agent.checkpoint_uploads.size() == static_cast<std::size_t>(i) + 2);
    it.uploaded(1);
  }
}

TEST_CASE("when a frame is neither in the file nor at the market, a full checkpoint is asked for") {
  CheckpointFixture it;
  it.take(1);
  it.uploaded(1, {"lacks_frames", "gone"});
  CHECK(it.agent.requests == std::vector{true});
  CHECK(it.agent.discards == std::vector<std::string>{"checkpoint-1"});
  it.take(2);
  CHECK(it.agent.checkpoint_uploads == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("a checkpoint that does not fit the owner's storage is given up, and the owner is told") {
  CheckpointFixture it;
  it.take(1);
  it.uploaded(1, {"quota_exceeded", "the storage is full"});
  CHECK(it.agent.discards == std::vector<std::string>{"checkpoint-1"});
  REQUIRE(it.agent.notes.size() == 1);
  CHECK(it.agent.notes[0].problem.contains("the storage is full"));
  CHECK(it.agent.requests.empty());
  it.agent.attempts.on_note_sent(it.name, {}, it.agent.now);
  const Time asked_at = it.agent.now + 1h;
  while (it.agent.requests.empty() && it.agent.now < asked_at) it.agent.pass(1s);
  CHECK(it.agent.requests.size() == 1);
  it.keep(2);
  it.agent.pass(Attempts::kNoteInterval);
  REQUIRE(it.agent.notes.size() == 2);
  CHECK(it.agent.notes[1].problem.empty());
}

TEST_CASE("why a job has no checkpoint is told once, and not more often than a named interval") {
  CheckpointFixture it;
  it.agent.pass(kFirst);
  it.agent.attempts.on_checkpoint_refused(it.name, "within optim()\x01", it.agent.now);
  it.agent.pass(CheckpointSchedule::kProblemAfter - 1s);
  CHECK(it.agent.notes.empty());
  it.agent.pass(1s);
  REQUIRE(it.agent.notes.size() == 1);
  CHECK(it.agent.notes[0].problem == "within optim()?");
  it.agent.attempts.on_note_sent(it.name, {}, it.agent.now);
  it.agent.attempts.on_checkpoint_refused(it.name, "within nlm()", it.agent.now);
  CHECK(it.agent.notes.size() == 1);
  it.agent.pass(Attempts::kNoteInterval);
  REQUIRE(it.agent.notes.size() == 2);
  CHECK(it.agent.notes[1].problem == "within nlm()");
}

TEST_CASE("a note that the market did not get is sent again, one that it refuses is not") {
  CheckpointFixture it;
  it.agent.attempts.on_not_resumable(it.name, "a syntax error", it.agent.now);
  REQUIRE(it.agent.notes.size() == 1);
  it.agent.attempts.on_note_sent(it.name, {"no_answer", "nobody there"}, it.agent.now);
  it.agent.pass(Attempts::kNoteInterval);
  REQUIRE(it.agent.notes.size() == 2);
  it.agent.attempts.on_note_sent(it.name, {"invalid_field", "no"}, it.agent.now);
  it.agent.pass(1h);
  CHECK(it.agent.notes.size() == 2);
}

TEST_CASE("an upload ends with the run, and what is reported of it afterwards changes nothing") {
  CheckpointFixture it;
  it.take(1);
  it.agent.end(1, {.ending = Ending::completed});
  CHECK(it.agent.cancelled_uploads == 1);
  it.uploaded(1, {"cancelled", "not needed any more"});
  it.take(2);
  it.recorded(1);
  CHECK(it.agent.deliveries.size() == 1);
  CHECK(it.agent.checkpoint_uploads.size() == 1);
  it.agent.deliver_all(1);
  it.agent.acknowledge();
  it.uploaded(1);
  CHECK(it.agent.attempts.count() == 0);
}

// --- going on

TEST_CASE("an attempt that resumed says so, and keeps checkpoints and delivers only after that") {
  CheckpointFixture it{true};
  auto& agent = it.agent;
  agent.attempts.on_fetched(it.name, {}, agent.now, {.sequence = 7});
  REQUIRE(agent.runs.size() == 1);
  agent.pass(1h);
  CHECK(agent.requests.empty());
  CHECK(agent.resume_reports.empty());
  agent.attempts.on_resumed(it.name, agent.now);
  REQUIRE(agent.resume_reports.size() == 1);
  CHECK(agent.resume_reports[0].sequence == 7);
  it.take(1);
  CHECK(agent.checkpoint_uploads.empty());
  agent.end(1, {.ending = Ending::completed});
  CHECK(agent.deliveries.empty());
  agent.attempts.on_resume_reported(it.name, {"no_answer", "nobody there"}, agent.now);
  agent.pass(2s);
  REQUIRE(agent.resume_reports.size() == 2);
  agent.attempts.on_resume_reported(it.name, {}, agent.now);
  CHECK(agent.deliveries.size() == 1);
}

TEST_CASE("a checkpoint that is not restored is skipped for an older one, and at last for a fresh start") {
  CheckpointFixture it{true};
  auto& agent = it.agent;
  const Verdict failed{
      .ending = Ending::sandbox_failure, .message = "another R", .resume_failed = true, .cpu_ms = 40};
  agent.attempts.on_fetched(it.name, {}, agent.now, {.sequence = 7});
  agent.end(1, failed);
  REQUIRE(agent.fetches.size() == 2);
  CHECK(agent.skipped == std::vector<SkippedCheckpoint>{{7, "another R"}});
  CHECK(agent.all<protocol::Outcome>().empty());
  agent.attempts.on_fetched(it.name, {}, agent.now, {.sequence = 5, .skipped = agent.skipped});
  agent.end(1, failed);
  REQUIRE(agent.fetches.size() == 3);
  CHECK(agent.skipped == std::vector<SkippedCheckpoint>{{7, "another R"}, {5, "another R"}});
  agent.attempts.on_fetched(it.name, {}, agent.now, {.sequence = 0, .skipped = agent.skipped});
  CHECK(agent.runs.size() == 3);
  REQUIRE(agent.resume_reports.size() == 1);
  CHECK(agent.resume_reports[0].sequence == 0);
  CHECK(agent.resume_reports[0].skipped == agent.skipped);
  agent.attempts.on_resume_reported(it.name, {}, agent.now);
  agent.end(1, {.ending = Ending::completed, .cpu_ms = 100});
  agent.deliver_all(1);
  REQUIRE(agent.all<protocol::Outcome>().size() == 1);
  CHECK(agent.all<protocol::Outcome>()[0].cpu_ms == 180);
}

TEST_CASE("the CPU time of runs that did not resume is used up") {
  CheckpointFixture it{true};
  auto assignment = AgentFixture::assignment(2);
  assignment.resumable = assignment.resume = true;
  assignment.cpu_ms_max = 1000;
  it.agent.receive(protocol::Assign{{assignment}});
  it.agent.acknowledge();
  it.agent.attempts.on_fetched(AgentFixture::name(2), {}, it.agent.now, {.sequence = 7});
  it.agent.end(2, {.ending = Ending::sandbox_failure, .resume_failed = true, .cpu_ms = 400});
  CHECK(it.agent.fetches.back().cpu_ms_max == 600);
  it.agent.attempts.on_fetched(AgentFixture::name(2), {}, it.agent.now, {.sequence = 6});
  it.agent.end(2, {.ending = Ending::sandbox_failure, .resume_failed = true, .cpu_ms = 4000});
  CHECK(it.agent.fetches.back().cpu_ms_max == 1);
}

TEST_CASE(
    "a machine that fails before a checkpoint is restored hands the job back and blames no checkpoint") {
  CheckpointFixture it{true};
  it.agent.attempts.on_fetched(it.name, {}, it.agent.now, {.sequence = 7});
  it.agent.end(1, {.ending = Ending::sandbox_failure, .message = "the zygote died"});
  REQUIRE(it.agent.all<protocol::Outcome>().size() == 1);
  CHECK(it.agent.all<protocol::Outcome>()[0].kind == AttemptOutcome::handed_back);
  CHECK(it.agent.resume_reports.empty());
}

}  // namespace remotist::volunteer
