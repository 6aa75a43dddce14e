// Looks which capabilities it has, and whether it could gain some.
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "hostile.h"

void misbehave(void) {
  struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct sets[2];
  memset(sets, 0, sizeof sets);
  trying("capget and prctl");
  if (syscall(SYS_capget, &head, sets) != 0) {
    contained("capget: %s", strerror(errno));
  } else if ((sets[0].effective | sets[0].permitted | sets[1].effective | sets[1].permitted) != 0) {
    escaped("it has capabilities %x %x", sets[1].effective, sets[0].effective);
  } else {
    contained("no capabilities");
  }
  const int nothing_new = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
  if (nothing_new == 0) {
    escaped("a program of root's would make it root");
  } else {
    contained("no new privileges: %d", nothing_new);
  }
}
