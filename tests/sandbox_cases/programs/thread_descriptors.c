// Fills the disc with deleted files that only a thread with descriptors of its own has open.
#include <sched.h>
#include <sys/wait.h>

#include "disc.h"

static char stack[1 << 18];
static volatile int done;

static long hold(long number, long wanted) {
  (void)number;
  const int fd = open("nameless", O_CREAT | O_RDWR | O_EXCL, 0600);
  if (fd < 0 || unlink("nameless") != 0) return 0;
  return fill(fd, wanted);
}

static int run(void* ignored) {
  (void)ignored;
  hold_disc("files that a thread's own descriptors hold", hold);
  done = 1;
  for (;;) pause();
  return 0;
}

void misbehave(void) {
  // Like a thread, but without CLONE_FILES.
  if (clone(run, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
            NULL) < 0) {
    contained("a thread: %s", strerror(errno));
    return;
  }
  while (!done) poll(NULL, 0, 20);
}
