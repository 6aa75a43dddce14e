// Makes a file that is a terabyte long and takes no room.
#include <fcntl.h>
#include <signal.h>

#include "hostile.h"

void misbehave(void) {
  trying("a sparse file of a terabyte");
  signal(SIGXFSZ, SIG_IGN);
  const int fd = open("sparse", O_CREAT | O_RDWR, 0600);
  judged("a byte at the end of a terabyte", pwrite(fd, "x", 1, (off_t)1 << 40));
  close(fd);
}
