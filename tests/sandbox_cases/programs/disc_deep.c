// Fills the disc far down, where somebody who walks through folders may have turned back.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include "hostile.h"

static char block[1 << 20];

void misbehave(void) {
  const long allowed = target_number("disc_mb");
  long got = 0;
  int depth = 0;
  memset(block, 1, sizeof block);
  trying("%ld MB, 400 folders down, where %ld are allowed", 4 * allowed, allowed);
  while (depth < 400 && mkdir("deeper", 0700) == 0 && chdir("deeper") == 0) ++depth;
  for (int i = 0; got < 4 * allowed; ++i) {
    char name[32];
    snprintf(name, sizeof name, "filler-%d", i);
    const int fd = open(name, O_CREAT | O_RDWR, 0600);
    if (fd < 0 || write(fd, block, sizeof block) != (ssize_t)sizeof block) break;
    close(fd);
    ++got;
  }
  if (got <= 2 * allowed) {
    contained("%d folders down, after %ld MB: %s", depth, got, strerror(errno));
    return;
  }
  // Whoever watches now and then has time to see it.
  poll(NULL, 0, 2000);
  escaped("%ld MB, %d folders down", got, depth);
}
