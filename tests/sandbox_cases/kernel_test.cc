#include <doctest/doctest.h>

#include "tests/sandbox_cases/suite.h"

namespace remotist::volunteer::cases {

TEST_CASE("a guest that mounts is refused") {
  check_contained("mount");
}

TEST_CASE("a guest that mounts by the newer calls is refused") {
  check_contained("new_mount_api");
}

TEST_CASE("a guest that makes namespaces is refused") {
  check_contained("namespaces");
}

TEST_CASE("a guest that enters others' namespaces is refused") {
  check_contained("setns");
}

TEST_CASE("a guest that attaches to others as a debugger is refused") {
  check_contained("ptrace");
}

TEST_CASE("a guest that reads others' memory is refused") {
  check_contained("process_memory");
}

TEST_CASE("a guest that opens a performance counter is refused") {
  check_contained("perf_event");
}

TEST_CASE("a guest that calls bpf is refused") {
  check_contained("bpf");
}

TEST_CASE("a guest that uses the kernel's keyring is refused") {
  check_contained("keyctl");
}

TEST_CASE("a guest that takes over page faults is refused") {
  check_contained("userfaultfd");
}

TEST_CASE("a guest that makes an io_uring is refused") {
  check_contained("io_uring");
}

TEST_CASE("a guest that calls through another ABI is refused") {
  check_contained("other_abi");
}

TEST_CASE("a program that a guest brings along is held like the guest") {
  check_contained("run_program");
}

TEST_CASE("a guest does not learn the host's name") {
  check_contained("host_name");
}

TEST_CASE("a guest finds no shared memory of the host") {
  check_contained("shared_memory");
}

TEST_CASE("a guest learns neither the host's load nor its memory nor its disc") {
  check_contained("sysinfo");
}

TEST_CASE("a guest does not learn what the host has read") {
  check_contained("page_cache");
}

TEST_CASE("a guest does not learn which pages others have by having its own merged") {
  check_contained("page_merging");
}

TEST_CASE("a guest is not told when the host reads its files") {
  check_contained("dnotify");
}

TEST_CASE("a guest does not learn how long the host has been up") {
  check_contained("uptime");
}

TEST_CASE("a guest does not learn where the agent keeps its files") {
  check_contained("zygote_argv");
}

TEST_CASE("a guest loads no filter of sockets into the kernel") {
  check_contained("socket_filter");
}

TEST_CASE("the guest beside those that ask the kernel gives the right answer") {
  check_neighbour();
}

}  // namespace remotist::volunteer::cases
