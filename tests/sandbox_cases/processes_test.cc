#include <doctest/doctest.h>

#include "tests/sandbox_cases/suite.h"

namespace remotist::volunteer::cases {

TEST_CASE("a guest that signals a process of the host is refused") {
  check_contained("signal_outside");
}

TEST_CASE("a guest that kills everybody ends alone") {
  check_contained("signal_all");
}

TEST_CASE("a guest that signals the agent is refused") {
  check_contained("signal_agent");
}

TEST_CASE("a guest that stops the zygote is refused") {
  check_contained("stop_zygote");
}

TEST_CASE("a guest does not see whether a process of the host exists") {
  check_contained("see_processes");
}

TEST_CASE("a guest that becomes root is nobody on the host") {
  check_contained("become_root");
}

TEST_CASE("a guest has no privileges and can gain none") {
  check_contained("privileges");
}

TEST_CASE("a guest that raises its limits is refused") {
  check_contained("raise_limits");
}

TEST_CASE("a guest that leaves a process behind leaves none") {
  check_contained("leave_behind");
}

TEST_CASE("a guest that ignores every signal is cancelled") {
  check_contained("survive_ignoring");
}

TEST_CASE("a guest that loops in C with every signal blocked is cancelled") {
  check_contained("survive_loop");
}

TEST_CASE("a guest that has stopped itself is cancelled") {
  check_contained("survive_stopped");
}

TEST_CASE("a guest whose orphan has left its session is cancelled with it") {
  check_contained("survive_orphan");
}

TEST_CASE("the guest beside those that signal and survive gives the right answer") {
  check_neighbour();
}

}  // namespace remotist::volunteer::cases
