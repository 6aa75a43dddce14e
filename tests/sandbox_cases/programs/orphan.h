// A process that has left its parents: forked twice, in a session of its own.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "hostile.h"

// Returns 0 in the orphan, 1 in the caller, -1 when it was refused.
static int orphan(void) {
  const pid_t child = fork();
  if (child < 0) return -1;
  if (child > 0) {
    waitpid(child, NULL, 0);
    return 1;
  }
  setsid();
  if (fork() != 0) _exit(0);
  for (int i = 1; i < 65; ++i) signal(i, SIG_IGN);
  return 0;
}
