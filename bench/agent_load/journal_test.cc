#include "bench/agent_load/journal.h"

#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

#include "bench/agent_load/machine_list.h"

namespace remotist::bench {
namespace {

const protocol::AttemptName kAttempt{*JobId::parse("01940000-0000-7000-8000-000000000001"), 3};

struct TemporaryFile {
  TemporaryFile() {
    char pattern[] = "/tmp/remotist-agent-load-XXXXXX";
    const int file = mkstemp(pattern);
    REQUIRE(file >= 0);
    close(file);
    path = pattern;
  }
  ~TemporaryFile() { std::filesystem::remove(path); }
  std::string text() const {
    std::ifstream file{path};
    return {std::istreambuf_iterator<char>{file}, {}};
  }
  std::string path;
};

// "1700000000123456" becomes "TIME".
std::string without_times(std::string text) {
  for (std::size_t at = 0; (at = text.find(" 1", at)) != std::string::npos; at += 5) {
    const auto end = text.find('\n', at);
    if (end - at == 17) text.replace(at, 17, " TIME");
  }
  return text;
}

}  // namespace

TEST_CASE("a journal has a line for each event, after what was there") {
  const TemporaryFile file;
  std::ofstream{file.path} << "before\n";
  {
    Journal journal{file.path, false};
    journal.assigned(kAttempt);
    journal.acknowledged(kAttempt);
    journal.stopped(kAttempt);
    CHECK(file.text() == "before\n");
    journal.flush();
  }
  const std::string name = "01940000-0000-7000-8000-000000000001 3";
  CHECK(without_times(file.text()) == "before\nassigned " + name + " TIME\nacknowledged " + name +
                                          " completed TIME\nstopped " + name + "\n");
}

TEST_CASE("a journal that writes at once needs no flush") {
  const TemporaryFile file;
  Journal journal{file.path, true};
  journal.stopped(kAttempt);
  CHECK(file.text() == "stopped 01940000-0000-7000-8000-000000000001 3\n");
}

TEST_CASE("a journal that cannot be opened or written is an error") {
  CHECK_THROWS_AS((Journal{"/nowhere/at/all", false}), std::runtime_error);
  Journal full{"/dev/full", false};
  full.stopped(kAttempt);
  CHECK_THROWS_AS(full.flush(), std::runtime_error);
}

TEST_CASE("a machine list is read as it is written, and its mistakes are reported with their line") {
  const TemporaryFile file;
  const MachineCredentials one{MachineId::make(), "remotist_machine_1"};
  const MachineCredentials two{MachineId::make(), "remotist_machine_2"};
  std::ofstream{file.path} << line_of(one) << "\n" << line_of(two);
  const auto machines = read_machine_list(file.path);
  REQUIRE(machines.size() == 2);
  CHECK(machines[1].id == two.id);
  CHECK(machines[1].token == two.token);

  const auto complaint = [&](const std::string& text) -> std::string {
    std::ofstream{file.path} << text;
    try {
      (void)read_machine_list(file.path);
    } catch (const std::runtime_error& fault) {
      return fault.what();
    }
    return "taken";
  };
  CHECK(complaint(line_of(one) + "machine token\n").starts_with(file.path + ":2: "));
  CHECK(complaint(one.id.text() + "\n").starts_with(file.path + ":1: "));
  CHECK(complaint(one.id.text() + " token more\n").starts_with(file.path + ":1: "));
  CHECK(complaint(line_of(one) + line_of(one)).starts_with(file.path + ":2: "));
  CHECK(complaint("").find("names no machine") != std::string::npos);
  CHECK_THROWS_AS((void)read_machine_list("/nowhere"), std::runtime_error);
}

}  // namespace remotist::bench
