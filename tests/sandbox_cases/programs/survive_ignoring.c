// Is cancelled while it ignores every signal that can be ignored.
#include <signal.h>

#include "hostile.h"

void misbehave(void) {
  for (int i = 1; i < 65; ++i) signal(i, SIG_IGN);
  trying("to outlive its cancellation");
  for (;;) pause();
}
