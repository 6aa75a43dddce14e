#include "volunteer/agent/guest_events.h"

#include "volunteer/agent/agent_fixture.h"

namespace remotist::volunteer {

using namespace std::chrono_literals;

TEST_CASE("a checkpoint of a guest changes nothing about its attempt, which goes on and ends") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  const auto name = AgentFixture::name(1);
  const auto sent = agent.sent.size();
  handle_guest_event(agent.attempts, name, {"guest", CheckpointTaken{.bytes = 1000}}, agent.now);
  agent.session.send_pending(agent.now);
  CHECK(agent.sent.size() == sent);
  CHECK(agent.attempts.count() == 1);
  CHECK(agent.drops.empty());
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
