// For tests: an agent with one running job that may take checkpoints, and the reports of its guest and its
// transfers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "volunteer/agent/agent_fixture.h"

namespace remotist::volunteer {

// The session is connected, and the job fetched unless it is to resume.
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

}  // namespace remotist::volunteer
