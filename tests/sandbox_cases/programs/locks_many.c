// Takes locks on files for ever, each of which is memory of the kernel, and holds them, in two processes.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "hostile.h"

enum { kFiles = 100, kLocks = 20000 };

// How many there are.
static long take_locks(const char* name) {
  char path[64];
  long taken = 0;
  for (int i = 0; i < kFiles; ++i) {
    snprintf(path, sizeof path, "%s-%d", name, i);
    const int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    struct flock one = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    for (; fd >= 0 && one.l_start < 2 * kLocks / kFiles; one.l_start += 2) {
      if (fcntl(fd, F_SETLK, &one) != 0) return taken > 0 ? taken : -1;
      ++taken;
    }
  }
  return taken;
}

void misbehave(void) {
  int told[2];
  char done = 0;
  if (pipe(told) != 0) return;
  trying("%d locks", 2 * kLocks);
  const pid_t child = fork();
  if (child == 0) {
    const long taken = take_locks("child");
    if (write(told[1], "x", 1) != 1 || taken != kLocks) _exit(1);
    for (;;) pause();
  }
  const long taken = take_locks("parent");
  const int error = errno;
  struct pollfd more = {.fd = told[0], .events = POLLIN};
  if (poll(&more, 1, 60000) != 1 || read(told[0], &done, 1) != 1) return;
  // Whoever counts them now and then has time to see them.
  poll(NULL, 0, 30000);
  if (taken == kLocks && waitpid(child, NULL, WNOHANG) == 0) {
    escaped("%d locks", 2 * kLocks);
  } else {
    contained("%ld locks: %s", taken, strerror(error));
  }
  kill(child, SIGKILL);
}
