#include "volunteer/sandbox/freezer.h"

#include <csignal>
#include <doctest/doctest.h>
#include <format>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "volunteer/sandbox/process_tree.h"

namespace remotist::volunteer {
namespace {

// A process with a child; both sleep until they are killed.
pid_t start_pair() {
  const pid_t first = ::fork();
  if (first != 0) return first;
  const pid_t second = ::fork();
  for (;;) ::pause();
  ::_exit(second);
}

// As /proc shows it: R, S, T …
char state_of_process(pid_t process) {
  const auto text = proc_text(std::format("/proc/{}/stat", process));
  const auto after_name = text.rfind(')');
  return after_name == std::string::npos ? '?' : text[after_name + 2];
}

void wait_for_state(const std::vector<pid_t>& processes, bool stopped) {
  for (const pid_t process : processes)
    while ((state_of_process(process) == 'T') != stopped) ::usleep(1000);
}

}  // namespace

TEST_CASE("a process and its children are stopped, go on, and can be killed while they are stopped") {
  const pid_t first = start_pair();
  while (processes_of(first).size() < 2) ::usleep(1000);
  const auto both = processes_of(first);
  set_frozen(first, nullptr, true);
  wait_for_state(both, true);
  set_frozen(first, nullptr, false);
  wait_for_state(both, false);
  set_frozen(first, nullptr, true);
  for (const pid_t process : both) CHECK(::kill(process, SIGKILL) == 0);
  int status = 0;
  CHECK(::waitpid(first, &status, 0) == first);
  CHECK(WIFSIGNALED(status));
}

}  // namespace remotist::volunteer
