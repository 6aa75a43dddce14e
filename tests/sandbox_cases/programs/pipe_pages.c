// Holds memory in pipes that nobody reads: in large ones, and in many.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "hostile.h"

enum { kProcesses = 8, kPipes = 100, kLarge = 1 << 20 };

static char block[1 << 16];

static long fill_pipe(void) {
  int pipe[2];
  long got = 0;
  if (pipe2(pipe, O_NONBLOCK) != 0) return -1;
  for (ssize_t more = 0; (more = write(pipe[1], block, sizeof block)) > 0;) got += more;
  return got;
}

static void fill_pipes(int told) {
  long all = 0;
  for (int i = 0; i < kPipes; ++i) {
    const long got = fill_pipe();
    if (got < 0) break;
    all += got;
  }
  if (write(told, &all, sizeof all) != sizeof all) _exit(1);
  for (;;) pause();
}

// Where nothing else counts them, they count against what the agent's own user may have.
static void fill_many(void) {
  pid_t children[kProcesses];
  int told[2];
  long all = 0;
  int alive = 0;
  if (pipe(told) != 0) return;
  for (int i = 0; i < kProcesses; ++i) {
    children[i] = fork();
    if (children[i] == 0) fill_pipes(told[1]);
  }
  struct pollfd more = {.fd = told[0], .events = POLLIN};
  for (int i = 0; i < kProcesses && poll(&more, 1, 10000) == 1; ++i) {
    long got = 0;
    if (read(told[0], &got, sizeof got) == sizeof got) all += got;
  }
  // Whoever looks now and then has time to see it.
  poll(NULL, 0, 3000);
  for (int i = 0; i < kProcesses; ++i)
    if (children[i] > 0 && waitpid(children[i], NULL, WNOHANG) == 0) ++alive;
  if (alive == kProcesses && all >> 20 > 32) {
    escaped("%ld MB in pipes of the agent's user", all >> 20);
  } else {
    contained("%d of %d processes are alive, with %ld MB", alive, kProcesses, all >> 20);
  }
  for (int i = 0; i < kProcesses; ++i)
    if (children[i] > 0) kill(children[i], SIGKILL);
}

void misbehave(void) {
  int large[2];
  trying("pipes of %d bytes, and %d pipes", kLarge, kProcesses * kPipes);
  if (pipe(large) == 0) judged("F_SETPIPE_SZ", fcntl(large[1], F_SETPIPE_SZ, kLarge) >= kLarge ? 0 : -1);
  if (target_number("own_user") == 0) fill_many();
}
