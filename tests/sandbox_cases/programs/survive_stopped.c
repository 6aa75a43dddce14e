// Is cancelled while it has stopped itself.
#include <signal.h>

#include "hostile.h"

void misbehave(void) {
  trying("to outlive its cancellation");
  if (raise(SIGSTOP) != 0) contained("raise: %s", strerror(errno));
  for (;;) pause();
}
