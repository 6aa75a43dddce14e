// Asks the clocks how long the host has been up.
#include <time.h>

#include "hostile.h"

static void ask(const char* name, clockid_t clock, long host) {
  struct timespec now;
  if (clock_gettime(clock, &now) != 0) {
    contained("%s: %s", name, strerror(errno));
  } else if (labs((long)now.tv_sec - host) < 120) {
    escaped("%s: up for %ld s", name, (long)now.tv_sec);
  } else {
    contained("%s: %ld s", name, (long)now.tv_sec);
  }
}

void misbehave(void) {
  trying("the clocks that count from the start of the machine");
  ask("CLOCK_MONOTONIC", CLOCK_MONOTONIC, target_number("monotonic_s"));
  ask("CLOCK_BOOTTIME", CLOCK_BOOTTIME, target_number("boottime_s"));
}
