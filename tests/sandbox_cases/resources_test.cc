#include <algorithm>
#include <cstdlib>
#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/sandbox_cases/suite.h"
#include "volunteer/sandbox/protection_probe.h"

namespace remotist::volunteer::cases {

TEST_CASE("a guest that forks for ever ends alone") {
  check_contained("fork_bomb");
}

TEST_CASE("a guest that forks for ever by R's own means ends alone") {
  check_contained("mcparallel");
}

TEST_CASE("a guest with as many processes as it may have leaves its neighbour room for its own") {
  check_contained("crowd_out");
}

TEST_CASE("a guest that starts threads for ever is refused at its limit") {
  check_contained("thread_bomb");
}

TEST_CASE("a guest that fills memory with vectors gets an R error") {
  check_contained("memory_vector");
}

TEST_CASE("a guest that fills memory in C gets no more than it may have") {
  check_contained("memory_malloc");
}

TEST_CASE("a guest that fills memory with files gets no more than it may have") {
  check_contained("memory_files");
}

TEST_CASE("a guest that fills memory in many processes gets no more than it may have") {
  check_contained("memory_forks");
}

TEST_CASE("a guest that fills memory with what nobody reads gets no more than it may have") {
  check_contained("memory_sockets");
}

TEST_CASE("a guest that fills memory and shares it with children gets no more than it may have") {
  check_contained("memory_shared_fork");
}

TEST_CASE("a guest that fills shared memory out of sight gets no more than it may have") {
  check_contained("memory_shared_dontneed");
}

TEST_CASE("a guest that fills shared memory through /dev/zero gets no more than it may have") {
  check_contained("memory_dev_zero");
}

TEST_CASE("a guest that fills memory in processes without their first thread gets no more than it may have") {
  check_contained("memory_dead_leader");
}

TEST_CASE("a guest gets no pages of the host's huge ones, which nothing counts") {
  check_contained("memory_hugetlb");
}

TEST_CASE("a guest gets no more memory in a program that it may execute but not read") {
  const auto seen = check_contained("memory_hidden");
  // Root's agent sees its memory, and may have a cgroup for it; elsewhere there may be no such program.
  if (::getuid() != 0 && seen.ending() != "completed")
    CHECK_MESSAGE(seen.verdict.message.contains("may be executed but not read"), seen.verdict.message);
}

TEST_CASE("a guest that fills pipes gets no more than the agent's user can spare") {
  check_contained("pipe_pages");
}

TEST_CASE("a guest that locks files for ever is ended at its limit") {
  const auto seen = check_contained("locks_many");
  if (seen.ending() != "completed")
    CHECK(seen.verdict.message == "The job held more than 1000 locks on files.");
}

TEST_CASE("a guest that fills the disc is stopped near its limit") {
  check_contained("disc");
}

TEST_CASE("a guest that fills the disc with files without names is stopped near its limit") {
  check_contained("disc_unlinked");
}

TEST_CASE("a guest that fills the disc with deleted files that are only mapped is stopped near its limit") {
  check_contained("deleted_mapped");
}

TEST_CASE("a guest that fills the disc with deleted libraries is stopped near its limit") {
  check_contained("deleted_libraries");
}

TEST_CASE("a guest that fills the disc through a thread's own descriptors is stopped near its limit") {
  check_contained("thread_descriptors");
}

TEST_CASE("a guest that gives its files the names of memory is stopped near its limit") {
  check_contained("memfd_name");
}

TEST_CASE("a guest cannot reserve disc without writing, and is told that its file system cannot") {
  const auto seen = check_contained("fallocate");
  CHECK(seen.lines("trying").size() == 1);
}

TEST_CASE("a guest that makes files without names for ever is stopped near its limit") {
  check_contained("nameless_inodes");
}

TEST_CASE("a guest with a large disc that holds deleted files is stopped near its limit") {
  check_contained("deleted_mapped_large");
}

TEST_CASE("a guest whose disc is full sees it, can make room and go on") {
  check_contained("disc_full");
}

TEST_CASE("a guest that fails because its disc is full is told that it was the disc") {
  const auto seen = check_contained("disc_full_fails");
  CHECK(seen.verdict.message.starts_with("The job's files took all of its 20 MB of disc. It then failed: "));
}

TEST_CASE("files that are long but hold nothing are results only up to the size of the disc") {
  const auto seen = check_contained("sparse_results");
  CHECK(seen.verdict.made.size() == 1);
  CHECK(seen.log.contains("[not among the results: too_large: "));
}

TEST_CASE("a guest that fills the disc far down is stopped near its limit") {
  check_contained("disc_deep");
}

TEST_CASE("a guest that makes files for ever is stopped near its limit") {
  check_contained("inodes");
}

TEST_CASE("a guest that makes a file of a terabyte is refused") {
  check_contained("sparse_file");
}

TEST_CASE("a guest that opens files for ever is refused at its limit") {
  check_contained("descriptors");
}

TEST_CASE("a guest that computes for ever is ended at its limit") {
  check_contained("cpu");
}

TEST_CASE("a guest that computes in threads in C is ended at its limit") {
  check_contained("cpu_threads");
}

TEST_CASE("a guest that computes in children that nobody waits for is ended at its limit") {
  check_contained("cpu_unseen");
}

TEST_CASE("a guest that prints for ever has a bounded log with its head and its tail") {
  const auto seen = check_contained("output");
  const auto bytes_max = case_of("output").limits.output_bytes_max;
  CHECK(seen.log.size() > bytes_max / 2);
  CHECK(seen.log.size() < bytes_max + 1000);
}

TEST_CASE("folders that a guest made deeper than any path can be removed") {
  const auto seen = check_contained("deep_folders");
  remove_folder(seen.folder);
  CHECK_FALSE(std::filesystem::exists(seen.folder));
}

TEST_CASE("the guest beside the greedy ones gives the right answer") {
  check_neighbour();
}

}  // namespace remotist::volunteer::cases
