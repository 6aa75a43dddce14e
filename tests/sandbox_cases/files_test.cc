#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>

#include "core/file_path.h"
#include "tests/sandbox_cases/suite.h"

namespace remotist::volunteer::cases {

TEST_CASE("a guest that names a file of the host finds none") {
  check_contained("absolute_path");
}

TEST_CASE("a guest that climbs out of its folder finds its own root") {
  check_contained("dot_dot");
}

TEST_CASE("a guest that gives a file of the host a second name is refused") {
  check_contained("hard_link");
}

TEST_CASE("a guest that goes through /proc finds nobody's root but its own") {
  check_contained("proc_root");
}

TEST_CASE("a guest that mounts the host's folder into its own is refused") {
  check_contained("bind_mount");
}

TEST_CASE("a guest that reads the agent's token finds none") {
  check_contained("agents_token");
}

TEST_CASE("a guest that reads other people's files finds none") {
  check_contained("other_user");
}

TEST_CASE("a guest that reads and writes other jobs' folders finds none") {
  check_contained("other_job");
}

TEST_CASE("a guest that looks for secrets in environments finds none") {
  check_contained("environment");
}

TEST_CASE("a guest that plants files outside its folder is refused") {
  check_contained("write_outside");
}

TEST_CASE("a guest that changes the kernel's settings is refused") {
  check_contained("kernel_settings");
}

TEST_CASE("a guest is born with no descriptor that leads out") {
  check_contained("open_descriptors");
}

TEST_CASE("a guest leaves no program that runs with somebody else's rights") {
  check_contained("change_owner");
}

TEST_CASE("a guest's lock on a file of R is not one for the host") {
  check_contained("flock_host");
}

TEST_CASE("a guest's lock on a part of a file of R is not one for the host") {
  check_contained("lock_host");
}

TEST_CASE("a guest cannot change the times of the host's devices") {
  check_contained("device_times");
}

TEST_CASE("a guest's link is followed neither by it nor by the host") {
  const auto seen = check_contained("symlink");
  for (const auto& path : seen.verdict.made) CHECK_FALSE(path.contains("link"));
}

TEST_CASE("what a guest leaves that is no file is not among its results") {
  for (const auto& path : check_contained("left_fifo").verdict.made) CHECK_FALSE(path.contains("left-"));
}

TEST_CASE("a guest's files have names under which they can be kept, or are left out") {
  const auto seen = check_contained("odd_names");
  CHECK(std::ranges::contains(seen.verdict.made, "-rf"));
  CHECK(std::ranges::contains(seen.verdict.made, "a\nb"));
  FileTree kept;
  for (const auto& path : seen.verdict.made) CHECK_FALSE(kept.add(kept_file_path(path).value()));
  CHECK(seen.log.contains("a?b is kept as a%0Ab"));
}

TEST_CASE("folders that nobody may enter can be removed") {
  const auto seen = check_contained("locked_folders");
  remove_folder(seen.folder);
  CHECK_FALSE(std::filesystem::exists(seen.folder));
}

TEST_CASE("the guest beside the hostile ones finds its files as they were") {
  check_neighbour();
}

}  // namespace remotist::volunteer::cases
