#include "core/job_state.h"

#include <doctest/doctest.h>

using namespace remotist;

TEST_CASE("state names read back") {
  for (const JobState state : kJobStates) CHECK(job_state_named(name_of(state)) == state);
  CHECK_FALSE(job_state_named("paused"));
}

TEST_CASE("an ended job never moves and every other can be cancelled or expire") {
  for (const JobState from : kJobStates) {
    CHECK_FALSE(may_move(from, from));
    CHECK(may_move(from, JobState::cancelled) == !ended(from));
    CHECK(may_move(from, JobState::expired) == !ended(from));
    for (const JobState to : kJobStates) {
      if (ended(from)) CHECK_FALSE(may_move(from, to));
    }
  }
}

TEST_CASE("only a running job completes, and only a lost one goes back to the queue") {
  for (const JobState from : kJobStates) {
    CHECK(may_move(from, JobState::completed) == (from == JobState::running));
    CHECK(may_move(from, JobState::queued) ==
          (from == JobState::uploading || from == JobState::assigned || from == JobState::running));
  }
}
