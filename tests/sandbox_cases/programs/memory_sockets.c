// Fills memory that belongs to no process: the buffers of sockets that nobody reads.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "hostile.h"

enum { kProcesses = 24, kPairs = 100 };

static char block[1 << 16];

static long fill(int fd) {
  long got = 0;
  for (ssize_t more = 0; (more = send(fd, block, sizeof block, MSG_DONTWAIT | MSG_NOSIGNAL)) > 0;)
    got += more;
  return got;
}

// Two sockets of which one has a name that it got without bind(), from the kernel.
static int named_pair(int pair[2]) {
  const int on = 1;
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  socklen_t length = sizeof name;
  pair[0] = socket(AF_UNIX, SOCK_DGRAM, 0);
  pair[1] = socket(AF_UNIX, SOCK_DGRAM, 0);
  if (pair[0] < 0 || pair[1] < 0) return -1;
  if (setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return -1;
  // Refused, for want of such a name, but not before this one has its own.
  if (connect(pair[1], (struct sockaddr*)&(struct sockaddr_un){.sun_family = AF_UNIX, .sun_path = "x"},
              sizeof name) == 0)
    return -1;
  if (getsockname(pair[1], (struct sockaddr*)&name, &length) != 0) return -1;
  return connect(pair[0], (struct sockaddr*)&name, length);
}

static void fill_pairs(int told) {
  long got = 0;
  for (int i = 0; i < kPairs; ++i) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0 && named_pair(pair) != 0) break;
    got += fill(pair[0]) + fill(pair[1]);
  }
  if (write(told, &got, sizeof got) != sizeof got) _exit(1);
  for (;;) pause();
}

void misbehave(void) {
  const long allowed = target_number("ram_mb");
  pid_t children[kProcesses];
  int told[2];
  long all = 0;
  int alive = 0;
  if (pipe(told) != 0) return;
  trying("%ld MB in sockets, where %ld are allowed", 2 * allowed, allowed);
  for (int i = 0; i < kProcesses; ++i) {
    children[i] = fork();
    if (children[i] == 0) {
      close(told[0]);
      fill_pairs(told[1]);
    }
  }
  close(told[1]);
  // Until each has said how much it has, or is dead.
  struct pollfd more = {.fd = told[0], .events = POLLIN};
  int said = 0;
  int dead = 0;
  for (int round = 0; said + dead < kProcesses && round < 100; ++round) {
    long got = 0;
    if (poll(&more, 1, 100) == 1 && read(told[0], &got, sizeof got) == sizeof got) {
      all += got;
      ++said;
    }
    while (waitpid(-1, NULL, WNOHANG) > 0) ++dead;
  }
  alive = kProcesses - dead;
  if (alive == kProcesses && all >> 20 > 2 * allowed) {
    escaped("%ld MB", all >> 20);
  } else {
    contained("%d of %d processes are alive, with %ld MB", alive, kProcesses, all >> 20);
  }
  for (int i = 0; i < kProcesses; ++i)
    if (children[i] > 0) kill(children[i], SIGKILL);
}
