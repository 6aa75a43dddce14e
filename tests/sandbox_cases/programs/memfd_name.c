// Fills the disc with deleted, mapped files whose names look like the kernel's own for memory.
#include <sys/mman.h>
#include <sys/stat.h>

#include "disc.h"

static long hold(long number, long wanted) {
  const char* const names[] = {"memfd:filler", "dev/zero"};
  const char* const name = names[number % 2];
  mkdir("dev", 0700);
  const int fd = open(name, O_CREAT | O_RDWR | O_EXCL, 0600);
  const long got = fd < 0 ? 0 : fill(fd, wanted);
  if (got > 0 && mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED) return 0;
  unlink(name);
  close(fd);
  return got;
}

void misbehave(void) {
  hold_disc("deleted files that are called memfd: and /dev/zero", hold);
}
