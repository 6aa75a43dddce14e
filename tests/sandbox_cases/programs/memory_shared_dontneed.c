// Fills shared memory without a file, and takes it out of its page tables.
#include "memory_shared.h"

static int fill_anonymous(size_t bytes) {
  return fill_unseen(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), bytes);
}

void misbehave(void) {
  fill_in_processes("shared and out of sight", fill_anonymous);
}
