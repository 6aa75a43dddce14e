#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>

#include "core/file_path.h"
#include "tests/sandbox_cases/suite.h"

namespace remotist::volunteer::cases {

TEST_CASE("a guest that names a file of the host finds none") {
  holds("absolute_path");
}

TEST_CASE("a guest that climbs out of its folder finds its own root") {
  holds("dot_dot");
}

TEST_CASE("a guest that gives a file of the host a second name is refused") {
  holds("hard_link");
}

TEST_CASE("a guest that goes through /proc finds nobody's root but its own") {
  holds("proc_root");
}

TEST_CASE("a guest that mounts the host's folder into its own is refused") {
  holds("bind_mount");
}

TEST_CASE("a guest that reads the agent's token finds none") {
  holds("agents_token");
}

TEST_CASE("a guest that reads other people's files finds none") {
  holds("other_user");
}

TEST_CASE("a guest that reads and writes other jobs' folders finds none") {
  holds("other_job");
}

TEST_CASE("a guest that looks for secrets in environments finds none") {
  holds("environment");
}

TEST_CASE("a guest that plants files outside its folder is refused") {
  holds("write_outside");
}

TEST_CASE("a guest that changes the kernel's settings is refused") {
  holds("kernel_settings");
}

TEST_CASE("a guest is born with no descriptor that leads out") {
  holds("open_descriptors");
}

TEST_CASE("a guest leaves no program that runs with somebody else's rights") {
  holds("change_owner");
}

TEST_CASE("a guest's lock on a file of R is not one for the host") {
  holds("flock_host");
}

TEST_CASE("a guest's lock on a part of a file of R is not one for the host") {
  holds("lock_host");
}

TEST_CASE("a guest cannot change the times of the host's devices") {
  holds("device_times");
}

TEST_CASE("a guest's link is followed neither by it nor by the host") {
  const auto seen = holds("symlink");
  for (const auto& path : seen.verdict.made) CHECK_FALSE(path.contains("link"));
}

TEST_CASE("what a guest leaves that is no file is not among its results") {
  for (const auto& path : holds("left_fifo").verdict.made) CHECK_FALSE(path.contains("left-"));
}

TEST_CASE("a guest's files have names under which they can be kept, or are left out") {
  const auto seen = holds("odd_names");
  CHECK(std::ranges::contains(seen.verdict.made, "-rf"));
  CHECK(std::ranges::contains(seen.verdict.made, "a\nb"));
  FileTree kept;
  for (const auto& path : seen.verdict.made) CHECK_FALSE(kept.add(kept_file_path(path).value()));
  CHECK(seen.log.contains("a?b is kept as a%0Ab"));
}

TEST_CASE("folders that nobody may enter can be removed") {
  const auto seen = holds("locked_folders");
  remove_folder(seen.folder);
  CHECK_FALSE(std::filesystem::exists(seen.folder));
}

TEST_CASE("the guest beside the hostile ones finds its files as they were") {
  neighbour_is_well();
}

}  // namespace remotist::volunteer::cases
