// Connects to a socket of the host and says something.
#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "hostile.h"

static void reach(int family, int type, const void* address, socklen_t length, const char* what) {
  trying("%s", what);
  const int fd = socket(family, type, 0);
  if (fd < 0) {
    contained("socket: %s", strerror(errno));
    return;
  }
  if (connect(fd, (const struct sockaddr*)address, length) != 0) {
    contained("connect: %s", strerror(errno));
  } else if (write(fd, "hello", 5) != 5) {
    contained("write: %s", strerror(errno));
  } else {
    escaped("%s", what);
  }
  close(fd);
}
