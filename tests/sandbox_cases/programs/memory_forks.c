// Fills memory in many processes, each of which stays below what one of them may have.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "hostile.h"

enum { kProcesses = 8 };

static void fill(size_t bytes, int told) {
  if (filled_memory(bytes) == NULL) _exit(1);
  if (write(told, "x", 1) != 1) _exit(1);
  for (;;) pause();
}

void misbehave(void) {
  const long allowed = target_number("ram_mb");
  pid_t children[kProcesses];
  int told[2];
  int alive = 0;
  char byte = 0;
  if (pipe(told) != 0) return;
  trying("%ld MB in %d processes, where %ld are allowed", allowed * kProcesses / 2, kProcesses, allowed);
  for (int i = 0; i < kProcesses; ++i) {
    children[i] = fork();
    if (children[i] == 0) {
      close(told[0]);
      fill((size_t)allowed << 19, told[1]);
    }
  }
  close(told[1]);
  int full = 0;
  struct pollfd more = {.fd = told[0], .events = POLLIN};
  while (full < kProcesses && poll(&more, 1, 20000) == 1 && read(told[0], &byte, 1) == 1) ++full;
  // Whoever watches memory now and then has time to see it.
  if (full == kProcesses) poll(NULL, 0, 2000);
  for (int i = 0; i < kProcesses; ++i)
    if (children[i] > 0 && waitpid(children[i], NULL, WNOHANG) == 0) ++alive;
  if (full == kProcesses && alive == kProcesses) {
    escaped("%ld MB", allowed * kProcesses / 2);
  } else {
    contained("%d of %d processes are alive", alive, kProcesses);
  }
  for (int i = 0; i < kProcesses; ++i)
    if (children[i] > 0) kill(children[i], SIGKILL);
}
