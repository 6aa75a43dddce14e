// Fills the disc with files that have no name any more, which nobody finds who walks through folders.
#include "disc.h"

// The descriptor stays open.
static long hold(long number, long wanted) {
  (void)number;
  const int fd = open("nameless", O_CREAT | O_RDWR | O_EXCL, 0600);
  if (fd < 0 || unlink("nameless") != 0) return 0;
  return fill(fd, wanted);
}

void misbehave(void) {
  hold_disc("files without names", hold);
}
