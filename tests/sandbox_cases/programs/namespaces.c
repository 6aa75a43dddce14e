// Makes namespaces of its own, in which it would have every capability.
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "hostile.h"

void misbehave(void) {
  trying("unshare and clone with a new user namespace");
  judged("unshare", unshare(CLONE_NEWUSER));
  const long child = syscall(SYS_clone, CLONE_NEWUSER | 17 /* SIGCHLD */, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  if (judged("clone", child) > 0) waitpid((pid_t)child, NULL, 0);
}
