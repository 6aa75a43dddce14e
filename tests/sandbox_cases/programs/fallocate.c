// Takes blocks without writing them, faster than anybody can look.
#include "disc.h"

static long reserve(long number, long wanted) {
  char name[64];
  snprintf(name, sizeof name, "reserved-%ld", number);
  const int fd = open(name, O_CREAT | O_RDWR | O_EXCL, 0600);
  return fd >= 0 && fallocate(fd, 0, 0, wanted << 20) == 0 ? wanted : 0;
}

void misbehave(void) {
  const long allowed = target_number("disc_mb");
  long got = 0;
  trying("to reserve %ld MB at once, where %ld are allowed", 8 * allowed, allowed);
  for (long i = 0; i < 16; ++i) got += reserve(i, allowed / 2);
  if (got > 2 * allowed) {
    escaped("%ld MB", got);
  } else {
    contained("after %ld MB: %s", got, strerror(errno));
  }
  // A program that asks for room in the portable way is told what it would be told by a file system without
  // this call.
  const int fd = open("portable", O_CREAT | O_RDWR | O_TRUNC, 0600);
  const int refused = posix_fallocate(fd, 0, 1 << 16);
  if (refused != 0 && refused != EOPNOTSUPP) trying("posix_fallocate(): %s", strerror(refused));
}
