// Fills memory that is shared through /dev/zero, and takes it out of its page tables.
#include <fcntl.h>

#include "memory_shared.h"

static int fill_zero(size_t bytes) {
  const int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
  if (fd < 0) return -1;
  return fill_unseen(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), bytes);
}

void misbehave(void) {
  fill_in_processes("of /dev/zero", fill_zero);
}
