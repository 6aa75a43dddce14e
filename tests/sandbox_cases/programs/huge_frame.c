// Announces a frame of eight gigabytes, and sends some of it.
#include "frames.h"
#include "hostile.h"

void misbehave(void) {
  const int fd = frames_socket();
  static char rest[65536];
  trying("a huge frame");
  send_lengths(fd, 0xffffffffU, 0xffffffffU);
  for (int i = 0; i < 256; ++i)
    if (send(fd, rest, sizeof rest, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) break;
}
