// Sends forged frames on the guest's socket to the host. The format is in volunteer/sandbox/frames.h.
#pragma once

#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "hostile.h"

// The first inherited stream socket; -1 when there is none.
__attribute__((unused)) static int frames_socket(void) {
  for (int fd = 3; fd < 1024; ++fd) {
    struct stat is;
    int type = 0;
    socklen_t length = sizeof type;
    if (fstat(fd, &is) == 0 && S_ISSOCK(is.st_mode) &&
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM)
      return fd;
    // A filter may refuse getsockopt; then any socket will do.
    if (fstat(fd, &is) == 0 && S_ISSOCK(is.st_mode) && type == 0) return fd;
  }
  contained("no socket to the host");
  return -1;
}

__attribute__((unused)) static int send_lengths(int fd, uint32_t head, uint32_t body) {
  const uint32_t lengths[2] = {head, body};
  return write(fd, lengths, sizeof lengths) == sizeof lengths ? 0 : -1;
}

__attribute__((unused)) static int send_head(int fd, const char* head) {
  char frame[4096];
  const uint32_t lengths[2] = {(uint32_t)strlen(head), 0};
  memcpy(frame, lengths, sizeof lengths);
  memcpy(frame + sizeof lengths, head, lengths[0]);
  const size_t size = sizeof lengths + lengths[0];
  return write(fd, frame, size) == (ssize_t)size ? 0 : -1;
}
