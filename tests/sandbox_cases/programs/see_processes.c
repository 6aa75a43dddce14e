// Looks whether a process of the host exists.
#include <sched.h>
#include <signal.h>

#include "hostile.h"

void misbehave(void) {
  const pid_t canary = (pid_t)target_number("canary");
  cpu_set_t cpus;
  trying("process %d", canary);
  if (kill(canary, 0) == 0) {
    escaped("it may be signalled");
  } else if (errno == EPERM && kill(canary - 1 + 4000000, 0) != 0 && errno == ESRCH) {
    escaped("it exists");
  } else {
    contained("kill: %s", strerror(errno));
  }
  if (sched_getaffinity(canary, sizeof cpus, &cpus) == 0) {
    escaped("its processors");
  } else {
    contained("sched_getaffinity: %s", strerror(errno));
  }
}
