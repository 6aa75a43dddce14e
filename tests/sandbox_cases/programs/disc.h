// Ways to hold more of the disc than is allowed, for the programs that differ only in how they hold it.
#pragma once

#include <fcntl.h>
#include <poll.h>

#include "hostile.h"

__attribute__((unused)) static char block[1 << 20];

// How many MB of a new file could be written.
__attribute__((unused)) static long fill(int fd, long wanted) {
  long got = 0;
  while (got < wanted && write(fd, block, sizeof block) == (ssize_t)sizeof block) ++got;
  return got;
}

// Calls `hold`, which makes a file of so many MB, holds it without a name, and says how many it got, until
// eight times as much as allowed is held or nothing more is to be had.
__attribute__((unused)) static void hold_disc(const char* how, long (*hold)(long number, long wanted)) {
  const long allowed = target_number("disc_mb");
  long got = 0;
  long more = 0;
  memset(block, 1, sizeof block);
  trying("%ld MB in %s, where %ld are allowed", 8 * allowed, how, allowed);
  for (long i = 0; got < 8 * allowed; ++i) {
    more = hold(i, allowed / 2);
    if (more <= 0) break;
    got += more;
  }
  if (got <= 2 * allowed) {
    contained("after %ld MB: %s", got, strerror(errno));
    return;
  }
  // Whoever watches now and then has time to see it.
  poll(NULL, 0, 2000);
  escaped("%ld MB", got);
}
