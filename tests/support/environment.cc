#include "tests/support/environment.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <signal.h>
#include <sstream>

#include "tests/support/eventually.h"

namespace remotist::test {
namespace {

// The state letter in a stat file of /proc, or a blank when there is no such process.
char state_in(const std::filesystem::path& file) {
  std::ifstream in{file};
  std::string line;
  if (!std::getline(in, line)) return ' ';
  const auto name_end = line.rfind(") ");
  return name_end == std::string::npos ? ' ' : line[name_end + 2];
}

// A zombie that its parent has not collected yet is dead all the same.
bool runs(pid_t pid) {
  const char state = state_in("/proc/" + std::to_string(pid) + "/stat");
  return state != ' ' && state != 'Z' && state != 'X';
}

bool all_threads_stopped(pid_t pid) {
  return std::ranges::all_of(std::filesystem::directory_iterator{"/proc/" + std::to_string(pid) + "/task"},
                             [](const auto& thread) { return state_in(thread.path() / "stat") == 'T'; });
}

}  // namespace

std::string env(const char* name) {
  if (const char* value = std::getenv(name)) return value;
  std::fprintf(stderr, "%s is not set: run these tests with script/test integration\n", name);
  std::exit(2);
}

std::vector<std::string> market_urls() {
  std::istringstream words{env("REMOTIST_MARKET_URLS")};
  return {std::istream_iterator<std::string>{words}, {}};
}

pid_t pid_of(const std::string& name) {
  std::ifstream in{env("REMOTIST_STATE") + "/run/" + name + ".pid"};
  pid_t pid = 0;
  in >> pid;
  REQUIRE_MESSAGE(pid > 1, "the stack has no running " << name);
  return pid;
}

void signal_part(const std::string& name, int signal) {
  REQUIRE(kill(pid_of(name), signal) == 0);
}

void kill_part(const std::string& name) {
  const pid_t pid = pid_of(name);
  REQUIRE(kill(pid, SIGKILL) == 0);
  REQUIRE(eventually([&] { return !runs(pid); }));
}

void kill_markets() {
  std::vector<pid_t> pids{pid_of("market")};
  for (std::size_t i = 2; i <= market_urls().size(); ++i)
    pids.push_back(pid_of("market" + std::to_string(i)));
  for (const pid_t pid : pids) REQUIRE(kill(pid, SIGKILL) == 0);
  for (const pid_t pid : pids) REQUIRE(eventually([&] { return !runs(pid); }));
}

void freeze_part(const std::string& name) {
  const pid_t pid = pid_of(name);
  REQUIRE(kill(pid, SIGSTOP) == 0);
  REQUIRE(eventually([&] { return all_threads_stopped(pid); }));
}

std::string output_of(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string output;
  std::array<char, 4096> buffer;
  while (const auto got = fread(buffer.data(), 1, buffer.size(), pipe)) output.append(buffer.data(), got);
  const int status = pclose(pipe);
  REQUIRE_MESSAGE(status == 0, command << "\n" << output);
  return output;
}

void bring_up() {
  output_of("'" + env("REMOTIST_ROOT") + "/script/up' --state '" + env("REMOTIST_STATE") + "'");
}

unsigned seed() {
  if (const char* given = std::getenv("REMOTIST_TEST_SEED")) {
    return static_cast<unsigned>(std::strtoul(given, nullptr, 10));
  }
  return std::random_device{}();
}

}  // namespace remotist::test
