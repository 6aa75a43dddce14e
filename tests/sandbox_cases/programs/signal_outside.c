// Sends a signal to a process of the host.
#include <signal.h>
#include <sys/syscall.h>

#include "hostile.h"

void misbehave(void) {
  const pid_t canary = (pid_t)target_number("canary");
  trying("kill, tgkill and sigqueue");
  judged("kill", kill(canary, SIGUSR1));
  judged("tgkill", syscall(SYS_tgkill, canary, canary, SIGUSR1));
  judged("sigqueue", sigqueue(canary, SIGUSR1, (union sigval){0}));
}
