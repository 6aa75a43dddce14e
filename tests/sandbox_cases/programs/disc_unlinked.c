// Fills the disc with files that have no name any more, which nobody finds who walks through folders.
#include <fcntl.h>
#include <poll.h>

#include "hostile.h"

static char block[1 << 20];

// So many MB in a file without a name, which stays open.
static long fill(long wanted) {
  const int fd = open("nameless", O_CREAT | O_RDWR | O_EXCL, 0600);
  long got = 0;
  if (fd < 0 || unlink("nameless") != 0) return 0;
  while (got < wanted && write(fd, block, sizeof block) == (ssize_t)sizeof block) ++got;
  return got;
}

void misbehave(void) {
  const long allowed = target_number("disc_mb");
  long got = 0;
  long more = 0;
  memset(block, 1, sizeof block);
  trying("%ld MB in files without names, where %ld are allowed", 8 * allowed, allowed);
  do {
    more = fill(allowed / 2);
    got += more;
  } while (more > 0 && got < 8 * allowed);
  if (got <= 2 * allowed) {
    contained("after %ld MB: %s", got, strerror(errno));
    return;
  }
  // Whoever watches now and then has time to see it.
  poll(NULL, 0, 2000);
  escaped("%ld MB", got);
}
