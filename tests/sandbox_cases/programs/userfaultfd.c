// Takes over the handling of page faults.
#include <sys/syscall.h>

#include "hostile.h"

void misbehave(void) {
  trying("userfaultfd");
  judged("userfaultfd", syscall(SYS_userfaultfd, 1 /* faults in user mode only */));
}
