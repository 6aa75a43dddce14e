// Closes every descriptor that it has, and computes on.
#include <time.h>

#include "hostile.h"

void misbehave(void) {
  const struct timespec moment = {0, 300000000};
  trying("no descriptors");
  for (int fd = 3; fd < 1024; ++fd) close(fd);
  nanosleep(&moment, NULL);
}
