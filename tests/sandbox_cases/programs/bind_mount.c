// Mounts the host's folder into its own.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "hostile.h"

void misbehave(void) {
  trying("a bind mount of the host's folder");
  mkdir("mounted", 0755);
  if (mount(target("host_folder"), "mounted", NULL, MS_BIND, NULL) != 0) {
    contained("mount: %s", strerror(errno));
    return;
  }
  if (open("mounted/secret", O_RDONLY) >= 0) escaped("the host's folder is mounted");
}
