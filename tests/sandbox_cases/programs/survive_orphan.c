// Is cancelled while a process that left its session runs.
#include "hostile.h"
#include "orphan.h"

void misbehave(void) {
  const int who = orphan();
  if (who == 0)
    for (;;) pause();
  if (who < 0) {
    contained("fork: %s", strerror(errno));
  } else {
    contained("it was started");
  }
  trying("to outlive its cancellation");
  for (;;) pause();
}
