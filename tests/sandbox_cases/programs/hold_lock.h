// A lock on a file that is the host's too, held until the host has looked whether it sees it.
#pragma once

#include <poll.h>

#include "hostile.h"

// The test puts the file there once it has looked; it says itself what it saw.
static void wait_for_host(void) {
  if (printf("holding: a lock\n") < 0 || fflush(stdout) != 0) return;
  for (int round = 0; round < 200 && access("looked", F_OK) != 0; ++round) poll(NULL, 0, 100);
}
