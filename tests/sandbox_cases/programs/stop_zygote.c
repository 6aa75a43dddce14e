// Stops the process from which it was forked.
#include <signal.h>

#include "hostile.h"

static void stop(const char* who, pid_t pid) {
  if (pid <= 1) {
    contained("%s is process %d", who, pid);
  } else {
    judged(who, kill(pid, SIGSTOP));
  }
}

void misbehave(void) {
  trying("SIGSTOP to the zygote");
  stop("the zygote", (pid_t)target_number("zygote"));
  stop("its parent", getppid());
}
