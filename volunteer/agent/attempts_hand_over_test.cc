#include "volunteer/agent/checkpoints_fixture.h"

namespace remotist::volunteer {

using namespace std::chrono_literals;

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
