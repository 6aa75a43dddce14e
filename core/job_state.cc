#include "core/job_state.h"

namespace remotist {

std::string_view name_of(JobState state) {
  switch (state) {
    case JobState::uploading:
      return "uploading";
    case JobState::queued:
      return "queued";
    case JobState::assigned:
      return "assigned";
    case JobState::running:
      return "running";
    case JobState::completed:
      return "completed";
    case JobState::failed:
      return "failed";
    case JobState::cancelled:
      return "cancelled";
    case JobState::expired:
      return "expired";
  }
  __builtin_unreachable();
}

std::optional<JobState> job_state_named(std::string_view name) {
  for (const JobState state : kJobStates) {
    if (name_of(state) == name) return state;
  }
  return std::nullopt;
}

bool ended(JobState state) {
  return state >= JobState::completed;
}

bool may_move(JobState from, JobState to) {
  if (ended(from)) return false;
  if (to == JobState::cancelled || to == JobState::expired) return true;
  switch (from) {
    case JobState::uploading:
      return to == JobState::queued;
    case JobState::queued:
      return to == JobState::assigned;
    case JobState::assigned:
      return to == JobState::queued || to == JobState::running || to == JobState::failed;
    case JobState::running:
      return to == JobState::queued || to == JobState::completed || to == JobState::failed;
    default:
      return false;
  }
}

}  // namespace remotist
