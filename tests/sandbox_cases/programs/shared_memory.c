// Opens a shared memory segment of the host.
#include <sys/shm.h>

#include "hostile.h"

void misbehave(void) {
  trying("the host's segment");
  judged("shmget", shmget((key_t)target_number("shm_key"), 0, 0));
}
