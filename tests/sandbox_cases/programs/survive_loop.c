// Is cancelled in a loop in C that has blocked every signal.
#include <signal.h>
#include <sys/prctl.h>

#include "hostile.h"

void misbehave(void) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
  prctl(PR_SET_PDEATHSIG, 0);
  trying("to outlive its cancellation");
  for (volatile long i = 0;; ++i) continue;
}
