#include "volunteer/agent/agent_fixture.h"
#include "volunteer/agent/retry_policy.h"

namespace remotist::volunteer {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kFirst{limits::kCheckpointIntervalSecondsFirst};

// An agent whose session is connected and whose one job may take checkpoints.
struct CheckpointFixture {
  explicit CheckpointFixture(bool resume = false) {
    agent.connect_session();
    auto assignment = AgentFixture::assignment(1);
    assignment.resumable = true;
    assignment.resume = resume;
    agent.receive(protocol::Assign{{assignment}});
    agent.acknowledge();
    if (!resume) agent.attempts.on_fetched(name, {}, agent.now);
  }
  // As the guest reports it now.
  CheckpointTaken taken(std::uint64_t number, std::vector<WatchedMark> watched = {}) const {
    return {.number = number,
            .file = "checkpoint-" + std::to_string(number),
            .bytes = 1000,
            .pause_ms = 5,
            .child_cpu_ms = 20,
            .cpu_ms = 500,
            .at = agent.now,
            .watched = std::move(watched)};
  }
  void take(std::uint64_t number, std::vector<WatchedMark> watched = {}) {
    agent.attempts.on_checkpoint_taken(name, taken(number, std::move(watched)), agent.now);
  }
  void uploaded(std::uint64_t number, const TransferFault& fault = {}) {
    auto chunks = fault ? nullptr : std::make_shared<const UploadedChunks>();
    agent.attempts.on_checkpoint_uploaded(name, number, fault, chunks, agent.now);
  }
  void recorded(std::uint64_t number, const TransferFault& fault = {}) {
    agent.attempts.on_checkpoint_recorded(name, number, fault, 7, agent.now);
  }
  void keep(std::uint64_t number) {
    take(number);
    uploaded(number);
    recorded(number);
  }
  void record_of(std::size_t variable, std::int64_t number) {
    agent.attempts.on_watched_record(
        name, {.variable = variable, .record = {.number = number, .changes = 1, .bytes = "v"}}, agent.now);
    agent.session.send_pending(agent.now);
  }

  AgentFixture agent;
  const protocol::AttemptName name = AgentFixture::name(1);
};

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

// --- handing over

TEST_CASE("a job that is handed over is handed back when a new checkpoint is kept") {
  CheckpointFixture it;
  auto& agent = it.agent;
  agent.receive(protocol::HandOver{{it.name}, "its owner moves it"});
  CHECK(agent.requests.size() == 1);
  CHECK(agent.hurried_uploads == 1);
  agent.pass(1s);
  it.keep(1);
  CHECK(agent.stopped_runs == std::vector{it.name});
  agent.session.send_pending(agent.now);
  REQUIRE(agent.all<protocol::Outcome>().size() == 1);
  CHECK(agent.all<protocol::Outcome>()[0].kind == AttemptOutcome::handed_back);
  CHECK(agent.all<protocol::Outcome>()[0].cpu_ms == 1234);
  agent.end(1, {.ending = Ending::cancelled});
  agent.acknowledge();
  CHECK(agent.attempts.count() == 0);
  CHECK(agent.all<protocol::Outcome>().size() == 1);
}

TEST_CASE("an older checkpoint that is on its way does not end a hand-over, and gives way to the new one") {
  CheckpointFixture it;
  it.take(1);
  it.agent.pass(1s);
  it.agent.receive(protocol::HandOver{{it.name}, "moved"});
  CHECK(it.agent.cancelled_uploads == 0);
  it.take(2);
  CHECK(it.agent.cancelled_uploads == 1);
  it.uploaded(1, {"cancelled", "not needed any more"});
  CHECK(it.agent.checkpoint_uploads == std::vector<std::uint64_t>{1, 2});
  CHECK(it.agent.stopped_runs.empty());
  it.uploaded(2);
  it.recorded(2);
  CHECK(it.agent.stopped_runs.size() == 1);
}

TEST_CASE("a hand-over without a new checkpoint ends after its time, and the last one counts") {
  CheckpointFixture it;
  it.agent.receive(protocol::HandOver{{it.name}, "moved"});
  it.agent.attempts.on_checkpoint_refused(it.name, "within optim()", it.agent.now);
  it.agent.pass(Attempts::kHandOverTime - 1s);
  CHECK(it.agent.stopped_runs.empty());
  it.agent.pass(1s);
  CHECK(it.agent.stopped_runs.size() == 1);
  it.agent.connect_session({it.name});
  REQUIRE(it.agent.all<protocol::Outcome>().size() == 1);
  CHECK(it.agent.all<protocol::Outcome>()[0].kind == AttemptOutcome::handed_back);
}

TEST_CASE("a job that cannot take checkpoints is handed over at once") {
  AgentFixture plain;
  plain.connect_session();
  plain.begin(1);
  plain.receive(protocol::HandOver{{AgentFixture::name(1)}, "moved"});
  CHECK(plain.all<protocol::Outcome>().size() == 1);
  CheckpointFixture it;
  it.agent.receive(protocol::HandOver{{it.name}, "moved"});
  it.agent.attempts.on_not_resumable(it.name, "a syntax error", it.agent.now);
  it.agent.session.send_pending(it.agent.now);
  CHECK(it.agent.all<protocol::Outcome>().size() == 1);
}

TEST_CASE("a hand-over whose checkpoint cannot be kept ends, and the last one counts") {
  CheckpointFixture it;
  it.agent.receive(protocol::HandOver{{it.name}, "moved"});
  it.take(1);
  it.uploaded(1, {"quota_exceeded", "full"});
  it.agent.session.send_pending(it.agent.now);
  CHECK(it.agent.all<protocol::Outcome>().size() == 1);
}

TEST_CASE("a market that asks again, or for a job that is not here, changes nothing") {
  CheckpointFixture it;
  it.agent.receive(protocol::HandOver{{AgentFixture::name(9)}, "moved"});
  it.agent.receive(protocol::HandOver{{it.name}, "moved"});
  it.agent.receive(protocol::HandOver{{it.name}, "moved"});
  CHECK(it.agent.requests.size() == 1);
  it.agent.end(1, {.ending = Ending::completed});
  it.agent.receive(protocol::HandOver{{it.name}, "moved"});
  CHECK(it.agent.all<protocol::Outcome>().empty());
  CHECK(it.agent.deliveries.size() == 1);
}

TEST_CASE("a machine that leaves may go when each running job has a new checkpoint") {
  CheckpointFixture it;
  auto& agent = it.agent;
  agent.attempts.hand_over_all("stop", true, agent.now);
  CHECK_FALSE(agent.attempts.can_leave());
  it.take(1);
  it.uploaded(1);
  CHECK_FALSE(agent.attempts.can_leave());
  it.recorded(1);
  CHECK(agent.attempts.can_leave());
  CHECK(agent.stopped_runs.empty());
  agent.session.leave("stop", agent.now);
  REQUIRE(agent.all<protocol::Goodbye>().size() == 1);
  CHECK(agent.all<protocol::Goodbye>()[0].attempts.size() == 1);
}

TEST_CASE("a machine that leaves waits for jobs without checkpoints and for results that are not delivered") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.attempts.hand_over_all("stop", true, agent.now);
  CHECK_FALSE(agent.attempts.can_leave());
  CHECK(agent.stopped_runs.empty());
  agent.end(1, {.ending = Ending::completed});
  CHECK_FALSE(agent.attempts.can_leave());
  agent.deliver_all(1);
  CHECK_FALSE(agent.attempts.can_leave());
  agent.acknowledge();
  CHECK(agent.attempts.can_leave());
}

TEST_CASE("a machine that leaves does not wait for jobs that have not begun") {
  AgentFixture agent;
  agent.connect_session();
  agent.assign(1);
  agent.attempts.hand_over_all("stop", true, agent.now);
  CHECK(agent.attempts.can_leave());
}

// --- pausing

TEST_CASE(
    "a paused job is frozen once it has taken a checkpoint, which is kept meanwhile, and then goes on") {
  CheckpointFixture it;
  auto& agent = it.agent;
  agent.attempts.pause(agent.now);
  CHECK(agent.requests.size() == 1);
  CHECK(agent.frozen_runs == 0);
  agent.pass(1s);
  it.take(1);
  CHECK(agent.frozen_runs == 1);
  it.uploaded(1);
  it.recorded(1);
  CHECK(agent.confirms.size() == 1);
  agent.pass(1h);
  CHECK(agent.requests.size() == 1);
  CHECK_FALSE(agent.attempts.running().empty());
  agent.attempts.unpause(agent.now);
  CHECK(agent.frozen_runs == 0);
  CHECK(agent.requests.size() == 2);
}

TEST_CASE("a paused job is frozen without a checkpoint after a named time, or at once when it takes none") {
  CheckpointFixture it;
  it.agent.attempts.pause(it.agent.now);
  it.agent.pass(Attempts::kFreezeTime - 1s);
  CHECK(it.agent.frozen_runs == 0);
  it.agent.pass(1s);
  CHECK(it.agent.frozen_runs == 1);
  AgentFixture plain;
  plain.connect_session();
  plain.begin(1);
  plain.attempts.pause(plain.now);
  CHECK(plain.frozen_runs == 1);
}

TEST_CASE("a job that begins during a pause is frozen, too") {
  AgentFixture agent;
  agent.connect_session();
  agent.attempts.pause(agent.now);
  agent.begin(1);
  CHECK(agent.frozen_runs == 1);
}

TEST_CASE("jobs of a long pause are handed over from the checkpoint that they took at its beginning") {
  CheckpointFixture it;
  auto& agent = it.agent;
  agent.attempts.pause(agent.now);
  agent.pass(1s);
  it.take(1);
  SUBCASE("the market has it") {
    it.uploaded(1);
    it.recorded(1);
    agent.attempts.hand_over_all("paused", false, agent.now);
  }
  SUBCASE("it is on its way") {
    agent.attempts.hand_over_all("paused", false, agent.now);
    CHECK(agent.stopped_runs.empty());
    CHECK(agent.hurried_uploads == 1);
    it.uploaded(1);
    it.recorded(1);
  }
  CHECK(agent.requests.size() == 1);
  CHECK(agent.stopped_runs.size() == 1);
  agent.session.send_pending(agent.now);
  CHECK(agent.all<protocol::Outcome>().size() == 1);
}

TEST_CASE("a frozen job without a checkpoint of the pause is handed over at once, and the last one counts") {
  CheckpointFixture it;
  it.agent.attempts.pause(it.agent.now);
  it.agent.pass(Attempts::kFreezeTime);
  it.agent.attempts.hand_over_all("paused", false, it.agent.now);
  CHECK(it.agent.stopped_runs.size() == 1);
}

TEST_CASE("a machine that leaves during a pause does not wait for frozen jobs that take no checkpoints") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.attempts.pause(agent.now);
  agent.attempts.hand_over_all("stop", true, agent.now);
  CHECK(agent.attempts.can_leave());
}

}  // namespace remotist::volunteer
