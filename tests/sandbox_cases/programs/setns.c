// Enters the namespaces of another process.
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>

#include "hostile.h"

void misbehave(void) {
  trying("the namespaces of the host, by a path and by a pidfd");
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/ns/mnt", target_number("canary"));
  const int fd = open(path, O_RDONLY);
  if (fd < 0) {
    contained("%s: %s", path, strerror(errno));
  } else {
    escaped("%s is open", path);
    close(fd);
  }
  const long pidfd = syscall(SYS_pidfd_open, target_number("canary"), 0);
  judged("a pidfd of the host's process", pidfd);
  if (pidfd >= 0 && setns((int)pidfd, CLONE_NEWNS) == 0) escaped("setns");
}
