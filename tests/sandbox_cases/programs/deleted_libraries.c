// Fills the disc with deleted shared objects that are loaded: of their length only the segments are mapped.
#include <dlfcn.h>

#include "disc.h"

static long copy_of_program(int to) {
  const int from = open("program.so", O_RDONLY);
  long got = 0;
  long more = 0;
  static char bytes[1 << 16];
  while ((more = read(from, bytes, sizeof bytes)) > 0) got += write(to, bytes, (size_t)more);
  close(from);
  return got;
}

static long hold(long number, long wanted) {
  char name[64];
  snprintf(name, sizeof name, "./library-%ld.so", number);
  const int fd = open(name, O_CREAT | O_RDWR | O_EXCL, 0700);
  long got = 0;
  if (fd >= 0 && copy_of_program(fd) > 0) got = fill(fd, wanted);
  close(fd);
  if (got > 0 && dlopen(name, RTLD_NOW) == NULL) got = 0;
  unlink(name);
  return got;
}

void misbehave(void) {
  hold_disc("deleted libraries", hold);
}
