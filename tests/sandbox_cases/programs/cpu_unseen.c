// Burns CPU time in children that nobody waits for, so that no parent's account has them.
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

#include "hostile.h"

enum { kEachMs = 40 };

static void burn(void) {
  struct rusage used;
  do {
    for (volatile long i = 0; i < 100000; ++i) continue;
    getrusage(RUSAGE_SELF, &used);
  } while (used.ru_utime.tv_sec == 0 && used.ru_utime.tv_usec < kEachMs * 1000);
  _exit(0);
}

void misbehave(void) {
  const long allowed = target_number("cpu_ms_max");
  long burnt = 0;
  // The kernel then buries them itself, and their time with them.
  signal(SIGCHLD, SIG_IGN);
  trying("%ld ms of CPU time in short-lived children, where %ld are allowed", 4 * allowed, allowed);
  while (burnt < 4 * allowed) {
    int alive[2];
    char nothing = 0;
    if (pipe(alive) != 0) break;
    const pid_t child = fork();
    if (child == 0) burn();
    close(alive[1]);
    if (child < 0) {
      contained("fork: %s", strerror(errno));
      return;
    }
    if (read(alive[0], &nothing, 1) != 0) break;
    close(alive[0]);
    burnt += kEachMs;
  }
  // Whoever watches now and then has time to see it.
  poll(NULL, 0, 1500);
  escaped("%ld ms of CPU time", burnt);
}
