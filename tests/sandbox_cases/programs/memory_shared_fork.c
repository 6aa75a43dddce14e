// Fills memory and shares it with a child of its own: no page of it belongs to one process alone.
#include "memory_shared.h"

static int fill_and_fork(size_t bytes) {
  if (filled_memory(bytes) == NULL) return -1;
  const pid_t child = fork();
  if (child == 0)
    for (;;) pause();
  return child > 0 ? 0 : -1;
}

void misbehave(void) {
  fill_in_processes("shared with children", fill_and_fork);
}
