#include <doctest/doctest.h>

#include "tests/sandbox_cases/suite.h"

namespace remotist::volunteer::cases {

TEST_CASE("a guest that mounts is refused") {
  holds("mount");
}

TEST_CASE("a guest that mounts by the newer calls is refused") {
  holds("new_mount_api");
}

TEST_CASE("a guest that makes namespaces is refused") {
  holds("namespaces");
}

TEST_CASE("a guest that enters others' namespaces is refused") {
  holds("setns");
}

TEST_CASE("a guest that attaches to others as a debugger is refused") {
  holds("ptrace");
}

TEST_CASE("a guest that reads others' memory is refused") {
  holds("process_memory");
}

TEST_CASE("a guest that opens a performance counter is refused") {
  holds("perf_event");
}

TEST_CASE("a guest that calls bpf is refused") {
  holds("bpf");
}

TEST_CASE("a guest that uses the kernel's keyring is refused") {
  holds("keyctl");
}

TEST_CASE("a guest that takes over page faults is refused") {
  holds("userfaultfd");
}

TEST_CASE("a guest that makes an io_uring is refused") {
  holds("io_uring");
}

TEST_CASE("a guest that calls through another ABI is refused") {
  holds("other_abi");
}

TEST_CASE("a program that a guest brings along is held like the guest") {
  holds("run_program");
}

TEST_CASE("a guest does not learn the host's name") {
  holds("host_name");
}

TEST_CASE("a guest finds no shared memory of the host") {
  holds("shared_memory");
}

TEST_CASE("a guest learns neither the host's load nor its memory nor its disc") {
  holds("sysinfo");
}

TEST_CASE("a guest does not learn what the host has read") {
  holds("page_cache");
}

TEST_CASE("a guest does not learn which pages others have by having its own merged") {
  holds("page_merging");
}

TEST_CASE("a guest is not told when the host reads its files") {
  holds("dnotify");
}

TEST_CASE("a guest does not learn how long the host has been up") {
  holds("uptime");
}

TEST_CASE("a guest does not learn where the agent keeps its files") {
  holds("zygote_argv");
}

TEST_CASE("a guest loads no filter of sockets into the kernel") {
  holds("socket_filter");
}

TEST_CASE("the guest beside those that ask the kernel gives the right answer") {
  neighbour_is_well();
}

}  // namespace remotist::volunteer::cases
