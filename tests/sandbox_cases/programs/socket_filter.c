// Loads a program into the kernel as a socket's filter, and asks for a handle of the process behind its
// socket.
#include <linux/filter.h>
#include <sys/socket.h>

#include "hostile.h"

enum { kPeerPidfd = 77 };

void misbehave(void) {
  struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, 0xffff);
  const struct sock_fprog program = {.len = 1, .filter = &all};
  int pidfd = -1;
  socklen_t length = sizeof pidfd;
  trying("SO_ATTACH_FILTER and SO_PEERPIDFD");
  const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  judged("SO_ATTACH_FILTER",
         fd < 0 ? -1 : setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program));
  // The socket to the host, whose other end was made by the zygote.
  judged("SO_PEERPIDFD", getsockopt(3, SOL_SOCKET, kPeerPidfd, &pidfd, &length));
}
