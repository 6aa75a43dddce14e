// Leaves a process behind when it ends.
#include "hostile.h"
#include "orphan.h"

void misbehave(void) {
  trying("a process that outlives it");
  const int who = orphan();
  if (who == 0)
    for (;;) pause();
  if (who < 0) {
    contained("fork: %s", strerror(errno));
  } else {
    contained("it was started");
  }
}
