// Opens files until it is refused or has four times what it may have.
#include "hostile.h"

void misbehave(void) {
  const long allowed = target_number("descriptors_max");
  int opened[4096];
  long count = 0;
  trying("%ld descriptors, where %ld are allowed", 4 * allowed, allowed);
  while (count < 4 * allowed && count < 4096 && (opened[count] = dup(STDOUT_FILENO)) >= 0) ++count;
  if (count > allowed) {
    escaped("%ld descriptors", count);
  } else {
    contained("after %ld: %s", count, strerror(errno));
  }
  while (count > 0) close(opened[--count]);
}
