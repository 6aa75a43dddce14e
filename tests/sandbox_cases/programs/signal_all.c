// Kills every process that it can reach.
#include <signal.h>

#include "hostile.h"

void misbehave(void) {
  trying("kill(-1)");
  judged("kill", kill(-1, SIGKILL));
}
