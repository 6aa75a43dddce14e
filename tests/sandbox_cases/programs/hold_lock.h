// Holds a lock on a file of the host until the test has checked whether the lock is visible there.
#pragma once

#include <poll.h>

#include "hostile.h"

// The test creates the file after its check, and reports the result itself.
static void wait_for_host(void) {
  if (printf("holding: a lock\n") < 0 || fflush(stdout) != 0) return;
  for (int round = 0; round < 200 && access("checked", F_OK) != 0; ++round) poll(NULL, 0, 100);
}
