// Ends, while an orphan of it goes on talking to the host.
#include <time.h>

#include "frames.h"
#include "orphan.h"

void misbehave(void) {
  const int fd = frames_socket();
  const struct timespec moment = {0, 1000000};
  trying("frames after its end");
  const int who = orphan();
  if (who < 0) contained("fork: %s", strerror(errno));
  while (who == 0) {
    send_head(fd, "{\"type\":\"progress\",\"fraction\":0.9,\"message\":\"late\"}");
    nanosleep(&moment, NULL);
  }
}
