// Fills memory with files that are no memory of the process: in the private /tmp, in /dev/shm.
#include <fcntl.h>
#include <sys/mman.h>

#include "hostile.h"

static char block[1 << 20];

// 64 MB a file: no limit on a single file's size is in the way.
static long fill(int fd, long wanted) {
  long got = 0;
  while (got < wanted && got < 64 && write(fd, block, sizeof block) == (ssize_t)sizeof block) ++got;
  return got;
}

static long fill_folder(const char* folder, long wanted) {
  long got = 0;
  for (int i = 0; got < wanted; ++i) {
    char path[64];
    snprintf(path, sizeof path, "%s/filler-%d", folder, i);
    const int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
    const long more = fd < 0 ? 0 : fill(fd, wanted - got);
    if (fd >= 0) close(fd);
    if (more == 0) break;
    got += more;
  }
  return got;
}

static long fill_nameless(long wanted) {
  long got = 0;
  while (got < wanted) {
    const int fd = memfd_create("filler", 0);
    const long more = fd < 0 ? 0 : fill(fd, wanted - got);
    if (more == 0) break;
    got += more;
  }
  return got;
}

void misbehave(void) {
  const long allowed = target_number("ram_mb");
  const long wanted = 3 * allowed;
  memset(block, 1, sizeof block);
  trying("%ld MB in files in memory, where %ld are allowed", wanted, allowed);
  long got = fill_nameless(wanted);
  if (got < wanted) got += fill_folder("/dev/shm", wanted - got);
  if (got < wanted) got += fill_folder("/tmp", wanted - got);
  if (got > 2 * allowed) {
    escaped("%ld MB", got);
  } else {
    contained("after %ld MB: %s", got, strerror(errno));
  }
}
