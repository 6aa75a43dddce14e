#include "tests/support/environment.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <fstream>
#include <random>
#include <signal.h>
#include <thread>

namespace remotist::test {
namespace {

pid_t pid_of(const std::string& name) {
  std::ifstream in{env("REMOTIST_STATE") + "/run/" + name + ".pid"};
  pid_t pid = 0;
  in >> pid;
  REQUIRE_MESSAGE(pid > 1, "the stack has no running " << name);
  return pid;
}

// A zombie that its parent has not collected yet is dead all the same.
bool runs(pid_t pid) {
  std::ifstream in{"/proc/" + std::to_string(pid) + "/stat"};
  std::string line;
  if (!std::getline(in, line)) return false;
  const auto after_name = line.rfind(')');
  return after_name != std::string::npos && line.substr(after_name + 2, 1) != "Z";
}

}  // namespace

std::string env(const char* name) {
  if (const char* value = std::getenv(name)) return value;
  std::fprintf(stderr, "%s is not set: run these tests with script/test integration\n", name);
  std::exit(2);
}

void signal_part(const std::string& name, int signal) {
  REQUIRE(kill(pid_of(name), signal) == 0);
}

void kill_part(const std::string& name) {
  const pid_t pid = pid_of(name);
  REQUIRE(kill(pid, SIGKILL) == 0);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{10};
  while (runs(pid)) {
    REQUIRE(std::chrono::steady_clock::now() < deadline);
    std::this_thread::yield();
  }
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
