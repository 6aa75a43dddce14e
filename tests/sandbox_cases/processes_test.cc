#include <doctest/doctest.h>

#include "tests/sandbox_cases/suite.h"

namespace remotist::volunteer::cases {

TEST_CASE("a guest that signals a process of the host is refused") {
  holds("signal_outside");
}

TEST_CASE("a guest that kills everybody ends alone") {
  holds("signal_all");
}

TEST_CASE("a guest that signals the agent is refused") {
  holds("signal_agent");
}

TEST_CASE("a guest that stops the zygote is refused") {
  holds("stop_zygote");
}

TEST_CASE("a guest does not see whether a process of the host exists") {
  holds("see_processes");
}

TEST_CASE("a guest that becomes root is nobody on the host") {
  holds("become_root");
}

TEST_CASE("a guest has no privileges and can gain none") {
  holds("privileges");
}

TEST_CASE("a guest that raises its limits is refused") {
  holds("raise_limits");
}

TEST_CASE("a guest that leaves a process behind leaves none") {
  holds("leave_behind");
}

TEST_CASE("a guest that ignores every signal is cancelled") {
  holds("survive_ignoring");
}

TEST_CASE("a guest that loops in C with every signal blocked is cancelled") {
  holds("survive_loop");
}

TEST_CASE("a guest that has stopped itself is cancelled") {
  holds("survive_stopped");
}

TEST_CASE("a guest whose orphan has left its session is cancelled with it") {
  holds("survive_orphan");
}

TEST_CASE("the guest beside those that signal and survive gives the right answer") {
  neighbour_is_well();
}

}  // namespace remotist::volunteer::cases
