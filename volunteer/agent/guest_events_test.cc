#include "volunteer/agent/guest_events.h"

#include "volunteer/agent/agent_fixture.h"

namespace remotist::volunteer {

using namespace std::chrono_literals;

TEST_CASE("every event of a guest reaches its attempt") {
  AgentFixture agent;
  agent.connect_session();
  auto assignment = AgentFixture::assignment(1);
  assignment.resumable = assignment.resume = true;
  agent.receive(protocol::Assign{{assignment}});
  const auto name = AgentFixture::name(1);
  agent.attempts.on_fetched(name, {}, agent.now, {.sequence = 3});
  handle_guest_event(agent.attempts, name, {"guest", Resumed{}}, agent.now);
  REQUIRE(agent.resume_reports.size() == 1);
  agent.attempts.on_resume_reported(name, {}, agent.now);
  agent.pass(1h);
  handle_guest_event(agent.attempts, name, {"guest", CheckpointRefused{"within optim()"}}, agent.now);
  agent.pass(1min);
  REQUIRE(agent.notes.size() >= 1);
  agent.attempts.on_note_sent(name, {}, agent.now);
  handle_guest_event(agent.attempts, name, {"guest", CheckpointTaken{.number = 1, .bytes = 1000}}, agent.now);
  CHECK(agent.checkpoint_uploads.size() == 1);
  agent.attempts.on_note_sent(name, {}, agent.now);
  handle_guest_event(agent.attempts, name, {"guest", NotResumable{"a syntax error"}}, agent.now);
  agent.pass(1min);
  CHECK(agent.notes.back().problem == "a syntax error");
  handle_guest_event(agent.attempts, name, {"guest", Ended{.verdict = {.ending = Ending::completed}}},
                     agent.now);
  CHECK(agent.deliveries.size() == 1);
}

TEST_CASE("progress and changed variables of a guest are sent for its attempt") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.pass(1s);
  const auto name = AgentFixture::name(1);
  handle_guest_event(agent.attempts, name, {"guest", Progress{0.5, "half"}}, agent.now);
  handle_guest_event(
      agent.attempts, name,
      {"guest", GuestRecord{.record = {.number = 1, .changes = 1, .kind = WatchedKind::removed}}}, agent.now);
  agent.pass(1s);
  agent.session.send_pending(agent.now);
  CHECK(agent.all<protocol::Progress>().size() == 1);
  CHECK(agent.all<protocol::WatchedRecords>().size() == 1);
}

}  // namespace remotist::volunteer
