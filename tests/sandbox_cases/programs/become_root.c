// Becomes root.
#include <fcntl.h>
#include <grp.h>

#include "hostile.h"

void misbehave(void) {
  // Who it is for the host, the owner of this file says.
  trying("uid 0, as seen by the host");
  if (setgroups(0, NULL) == 0) escaped("setgroups");
  if (setresgid(0, 0, 0) == 0) contained("gid 0 of its own namespace");
  if (setresuid(0, 0, 0) != 0) {
    contained("setresuid: %s", strerror(errno));
  } else {
    contained("uid 0 of its own namespace");
  }
  close(open("whose", O_CREAT | O_WRONLY, 0600));
}
