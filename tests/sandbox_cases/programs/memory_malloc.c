// Fills memory by malloc until it is refused or has three times what it may have.
#include "hostile.h"

void misbehave(void) {
  const long allowed = target_number("ram_mb");
  const size_t piece = 16 << 20;
  long got = 0;
  trying("%ld MB, where %ld are allowed", 3 * allowed, allowed);
  while (got < 3 * allowed) {
    if (filled_memory(piece) == NULL) break;
    got += 16;
  }
  if (got > 2 * allowed) {
    escaped("%ld MB", got);
  } else {
    contained("after %ld MB: %s", got, strerror(errno));
  }
}
