#include "tests/support/own_process.h"

#include <cstdlib>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "tests/support/environment.h"
#include "tests/support/eventually.h"

namespace remotist::test {
namespace {

// Only what the program may see: the caller's own settings are for the stack.
std::vector<std::string> environment_of(const std::map<std::string, std::string>& settings) {
  std::vector<std::string> variables;
  for (const char* name : {"PATH", "HOME", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) variables.push_back(std::string{name} + "=" + value);
  }
  for (const auto& [name, value] : settings) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> words_of(const std::vector<std::string>& texts) {
  std::vector<char*> words;
  words.reserve(texts.size() + 1);
  for (const auto& text : texts) words.push_back(const_cast<char*>(text.c_str()));
  words.push_back(nullptr);
  return words;
}

}  // namespace

OwnProcess::OwnProcess(const std::string& program, const std::vector<std::string>& arguments,
                       const std::map<std::string, std::string>& settings, const std::string& log,
                       const std::string& output) {
  std::vector<std::string> command{env("REMOTIST_BIN") + "/" + program};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const auto variables = environment_of(settings);
  const std::string file = env("REMOTIST_STATE") + "/log/" + log + ".log";
  constexpr int kAppend = O_WRONLY | O_CREAT | O_APPEND;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, file.c_str(), kAppend, 0600);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, output.empty() ? file.c_str() : output.c_str(),
                                   kAppend, 0600);
  const int failed = posix_spawn(&pid_, command.front().c_str(), &files, nullptr, words_of(command).data(),
                                 words_of(variables).data());
  posix_spawn_file_actions_destroy(&files);
  REQUIRE(failed == 0);
}

OwnProcess::~OwnProcess() {
  if (pid_ > 0) kill();
}

OwnProcess::OwnProcess(OwnProcess&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}

OwnProcess& OwnProcess::operator=(OwnProcess&& other) noexcept {
  if (pid_ > 0) kill();
  pid_ = std::exchange(other.pid_, -1);
  return *this;
}

void OwnProcess::signal(int number) const {
  REQUIRE(::kill(pid_, number) == 0);
}

void OwnProcess::kill() {
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

bool OwnProcess::ends() {
  if (!eventually([&] { return waitpid(pid_, nullptr, WNOHANG) == pid_; })) return false;
  pid_ = -1;
  return true;
}

int free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(bind(probe, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(getsockname(probe, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  close(probe);
  return ntohs(address.sin_port);
}

}  // namespace remotist::test
