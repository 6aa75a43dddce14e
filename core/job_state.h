// The states of a job and the moves between them: the C++ face of docs/states.md.
// The database holds the same table (trigger job_state_moves) and enforces it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace remotist {

enum class JobState : std::uint8_t {
  uploading,
  queued,
  assigned,
  running,
  completed,
  failed,
  cancelled,
  expired,
};

inline constexpr std::array kJobStates{JobState::uploading, JobState::queued,    JobState::assigned,
                                       JobState::running,   JobState::completed, JobState::failed,
                                       JobState::cancelled, JobState::expired};

std::string_view name_of(JobState state);
std::optional<JobState> job_state_named(std::string_view name);

// An ended job never moves again.
bool ended(JobState state);
bool may_move(JobState from, JobState to);

}  // namespace remotist
