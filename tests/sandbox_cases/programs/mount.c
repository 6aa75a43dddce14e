// Mounts a file system.
#include <sys/mount.h>
#include <sys/stat.h>

#include "hostile.h"

void misbehave(void) {
  trying("a tmpfs in its own folder");
  mkdir("mounted", 0755);
  judged("mount", mount("none", "mounted", "tmpfs", 0, NULL));
}
