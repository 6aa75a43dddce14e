// Changes the times of the host's devices.
#include <fcntl.h>
#include <sys/stat.h>

#include "hostile.h"

void misbehave(void) {
  const char* const names[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};
  trying("the times of /dev/null and others");
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    judged(names[i], utimensat(AT_FDCWD, names[i], NULL, 0));
  const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  judged("an open /dev/null", fd < 0 ? -1 : futimens(fd, NULL));
}
