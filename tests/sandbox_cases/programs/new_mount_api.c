// Mounts a file system by the calls that are newer than mount(2).
#include <sys/syscall.h>

#include "hostile.h"

void misbehave(void) {
  trying("fsopen and open_tree");
  judged("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
  judged("open_tree", syscall(SYS_open_tree, -100, "/", 1 /* a copy */));
}
