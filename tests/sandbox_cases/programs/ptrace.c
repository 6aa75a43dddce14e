// Attaches to other processes as a debugger.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "hostile.h"

static void attach(const char* who, pid_t pid) {
  if (judged(who, ptrace(PTRACE_SEIZE, pid, NULL, NULL)) != 0) return;
  ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
  waitpid(pid, NULL, __WALL);
  ptrace(PTRACE_DETACH, pid, NULL, NULL);
}

void misbehave(void) {
  trying("ptrace");
  attach("the host's process", (pid_t)target_number("canary"));
  attach("its parent", getppid());
}
