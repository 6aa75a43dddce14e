// Asks what this machine is called.
#include <sys/utsname.h>

#include "hostile.h"

void misbehave(void) {
  struct utsname machine;
  trying("uname");
  if (uname(&machine) != 0) {
    contained("uname: %s", strerror(errno));
  } else if (strcmp(machine.nodename, target("host_name")) == 0) {
    escaped("the host's name %s", machine.nodename);
  } else {
    contained("it is called %s", machine.nodename);
  }
}
