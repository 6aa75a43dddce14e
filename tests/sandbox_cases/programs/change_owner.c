// Gives a file of its own to root, with a mode that makes whoever runs it root.
#include <fcntl.h>
#include <sys/stat.h>

#include "hostile.h"

void misbehave(void) {
  trying("a program of root's with the set-uid bit");
  const int fd = open("left.setuid", O_CREAT | O_WRONLY, 0755);
  if (write(fd, "#!/bin/sh\n", 10) != 10) contained("write: %s", strerror(errno));
  if (fchown(fd, 0, 0) != 0) contained("fchown: %s", strerror(errno));
  if (fchmod(fd, 04755) != 0) contained("fchmod: %s", strerror(errno));
  close(fd);
}
