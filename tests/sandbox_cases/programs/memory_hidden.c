// Fills memory in processes that run a program which may be executed but not read: /proc shows almost nothing of them to
// an agent without privileges.
#include <fcntl.h>

#include "memory_shared.h"

static int fill_hidden(size_t bytes) {
  char size[32];
  char byte = 0;
  int filled[2];
  if (pipe(filled) != 0) return -1;
  snprintf(size, sizeof size, "%zu", bytes);
  const pid_t child = vfork();
  if (child == 0) {
    dup2(filled[1], STDOUT_FILENO);
    execl(target("hidden_program"), "hidden", size, (char*)NULL);
    _exit(9);
  }
  close(filled[1]);
  const ssize_t got = child < 0 ? -1 : read(filled[0], &byte, 1);
  close(filled[0]);
  if (got == 1) return 0;
  errno = ENOMEM;
  return -1;
}

void misbehave(void) {
  const int fd = open(target("hidden_program"), O_RDONLY | O_CLOEXEC);
  trying("memory of a hidden program");
  if (fd >= 0 || access(target("hidden_program"), X_OK) != 0) {
    contained("there is no program that may be executed and not read");
  } else {
    fill_in_processes("of a hidden program", fill_hidden);
  }
}
