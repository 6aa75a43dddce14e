// Stops and kills the agent.
#include <signal.h>

#include "hostile.h"

void misbehave(void) {
  trying("SIGCONT to the agent");
  judged("kill", kill((pid_t)target_number("agent"), SIGCONT));
}
