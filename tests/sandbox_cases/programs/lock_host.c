// Locks a part of a file of R that the host uses too.
#include <fcntl.h>

#include "hold_lock.h"

void misbehave(void) {
  struct flock all = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
  trying("fcntl on %s", target("shared_file"));
  const int fd = open(target("shared_file"), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || fcntl(fd, F_SETLK, &all) != 0) {
    contained("F_SETLK: %s", strerror(errno));
    return;
  }
  wait_for_host();
}
