// Sends frames as fast as it can.
#include <signal.h>

#include "frames.h"
#include "hostile.h"

void misbehave(void) {
  const int fd = frames_socket();
  long sent = 0;
  signal(SIGPIPE, SIG_IGN);
  trying("100000 frames");
  while (sent < 100000 &&
         send_head(fd, "{\"type\":\"progress\",\"fraction\":0.5,\"message\":\"flood\"}") == 0)
    ++sent;
  contained("it sent %ld", sent);
}
