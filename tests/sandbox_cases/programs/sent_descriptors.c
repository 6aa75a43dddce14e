// Sends the host descriptors that it did not ask for.
#include <sys/uio.h>

#include "frames.h"
#include "hostile.h"

enum { kEach = 200 };

void misbehave(void) {
  const int fd = frames_socket();
  char byte = 0;
  union {
    struct cmsghdr head;
    char room[CMSG_SPACE(kEach * sizeof(int))];
  } control;
  struct iovec bytes = {&byte, 1};
  struct msghdr message = {
      .msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  memset(&control, 0, sizeof control);
  control.head.cmsg_level = SOL_SOCKET;
  control.head.cmsg_type = SCM_RIGHTS;
  control.head.cmsg_len = CMSG_LEN(kEach * sizeof(int));
  for (int i = 0; i < kEach; ++i)
    memcpy(CMSG_DATA(&control.head) + (size_t)i * sizeof(int), &(int){1}, sizeof(int));
  trying("%d descriptors in each message", kEach);
  int sent = 0;
  while (sent < 8 && sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) ++sent;
  contained("%d messages: %s", sent, strerror(errno));
}
