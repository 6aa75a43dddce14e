#include "volunteer/agent/state_folder.h"

#include <doctest/doctest.h>
#include <fstream>
#include <sys/stat.h>

#include "volunteer/agent/control.h"
#include "volunteer/agent/enrol.h"
#include "volunteer/agent/scratch_folder.h"

namespace remotist::volunteer {
namespace {

namespace fs = std::filesystem;

mode_t mode_of(const fs::path& path) {
  struct stat found{};
  REQUIRE(::stat(path.c_str(), &found) == 0);
  return found.st_mode & 0777;
}

}  // namespace

TEST_CASE("tokens are kept where only their owner can read them") {
  const ScratchFolder scratch;
  ::umask(0);
  const StateFolder state{scratch.path / "new" / "state"};
  state.store(Login{"https://m", "", "secret"});
  LentMachine machine{.id = MachineId::make(), .name = "m", .cpu_cores = 2};
  machine.token = "secret too";
  state.store(machine);
  ::umask(022);
  CHECK(mode_of(state.path()) == 0700);
  CHECK(mode_of(state.path() / "login.json") == 0600);
  CHECK(mode_of(state.path() / "machine.json") == 0600);
  CHECK(state.login()->token == "secret");
  CHECK(state.machine()->id == machine.id);
  CHECK(state.machine()->token == "secret too");
}

TEST_CASE("a folder that others may enter is refused, and so is a damaged file") {
  const ScratchFolder scratch;
  fs::permissions(scratch.path, fs::perms::owner_all | fs::perms::group_read);
  CHECK_THROWS_WITH_AS((StateFolder{scratch.path}), doctest::Contains("chmod 700"), std::runtime_error);
  fs::permissions(scratch.path, fs::perms::owner_all);
  const StateFolder state{scratch.path};
  CHECK_FALSE(state.login().has_value());
  std::ofstream{scratch.path / "login.json"} << "{";
  CHECK_THROWS_WITH_AS(state.login(), doctest::Contains("damaged"), std::runtime_error);
}

TEST_CASE("one agent at a time holds a folder") {
  const ScratchFolder scratch;
  const StateFolder state{scratch.path};
  {
    const auto held = state.lock();
    REQUIRE(held.has_value());
    CHECK_FALSE(state.lock().has_value());
  }
  CHECK(state.lock().has_value());
}

TEST_CASE("without an agent there is no answer, and a control socket may have a long path") {
  const ScratchFolder scratch;
  const auto deep = scratch.path / std::string(150, 'd');
  fs::create_directory(deep);
  CHECK_FALSE(request_from_agent(deep / "control", "status").has_value());
  const Control control{deep / "control"};
  CHECK(fs::is_socket(deep / "control"));
}

TEST_CASE("the seconds until a time are computed from the market's format") {
  CHECK(seconds_until("2000-01-01T00:00:00.000Z") == 0);
  CHECK(seconds_until("nonsense") == 0);
  CHECK(seconds_until("2200-01-01T00:00:00.000Z") > 1'000'000'000);
}

}  // namespace remotist::volunteer
