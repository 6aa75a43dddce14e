// Fills the disc with deleted files of which one page is mapped, and nothing is open.
#include <sys/mman.h>

#include "disc.h"

static long hold(long number, long wanted) {
  (void)number;
  const int fd = open("mapped", O_CREAT | O_RDWR | O_EXCL, 0600);
  const long got = fd < 0 ? 0 : fill(fd, wanted);
  if (got > 0 && mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED) return 0;
  unlink("mapped");
  close(fd);
  return got;
}

void misbehave(void) {
  hold_disc("deleted files with one page mapped", hold);
}
