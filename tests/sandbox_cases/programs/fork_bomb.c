// Forks until it is refused, or until it has far more processes than it may have.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "hostile.h"

enum { kMost = 150 };

void misbehave(void) {
  const long allowed = target_number("processes_max");
  pid_t children[kMost];
  int count = 0;
  trying("%d processes at once, where %ld are allowed", kMost, allowed);
  while (count < kMost) {
    const pid_t child = fork();
    if (child == 0)
      for (;;) pause();
    if (child < 0) break;
    children[count++] = child;
  }
  if (count > allowed) {
    escaped("%d processes", count);
  } else {
    contained("after %d: %s", count, strerror(errno));
  }
  // Those beside it should be able to fork meanwhile.
  poll(NULL, 0, 2000);
  for (int i = 0; i < count; ++i) kill(children[i], SIGKILL);
  while (count > 0 && wait(NULL) > 0) --count;
}
