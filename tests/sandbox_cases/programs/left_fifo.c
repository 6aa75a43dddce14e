// Leaves things in its folder that are no files, for the host to open.
#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "hostile.h"

void misbehave(void) {
  trying("a fifo, a socket and a device");
  if (mkfifo("left-fifo", 0666) != 0) contained("mkfifo: %s", strerror(errno));
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "left-socket"};
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0 || bind(fd, (struct sockaddr*)&address, sizeof address) != 0)
    contained("bind: %s", strerror(errno));
  judged("mknod", mknod("left-device", S_IFBLK | 0666, 0));
}
