// Makes more files than are allowed, none of which has a name: each is held by one mapped page.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>

#include "hostile.h"

void misbehave(void) {
  const long allowed = target_number("inodes_max");
  trying("%ld files without names, where %ld are allowed", 4 * allowed, allowed);
  long made = 0;
  for (; made < 4 * allowed; ++made) {
    const int fd = open("nameless", O_CREAT | O_RDWR | O_EXCL, 0600);
    if (fd < 0 || mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED) break;
    unlink("nameless");
    close(fd);
    if (made % 200 == 0) poll(NULL, 0, 10);
  }
  if (made <= 2 * allowed) {
    contained("after %ld: %s", made, strerror(errno));
    return;
  }
  poll(NULL, 0, 2000);
  escaped("%ld files", made);
}
