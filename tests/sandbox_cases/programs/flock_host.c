// Locks a file of R that the host uses too.
#include <fcntl.h>
#include <sys/file.h>

#include "hold_lock.h"

void misbehave(void) {
  trying("flock on %s", target("shared_file"));
  const int fd = open(target("shared_file"), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) {
    contained("flock: %s", strerror(errno));
    return;
  }
  wait_for_host();
}
