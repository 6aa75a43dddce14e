// Says that it has ended, and does not end.
#include <time.h>

#include "frames.h"
#include "hostile.h"

void misbehave(void) {
  const int fd = frames_socket();
  const struct timespec moment = {0, 10000000};
  trying("two ends");
  send_head(fd, "{\"type\":\"completed\"}");
  for (int i = 0; i < 50; ++i) {
    send_head(fd, "{\"type\":\"progress\",\"fraction\":0.1,\"message\":\"after the end\"}");
    send_head(fd, "{\"type\":\"r_error\",\"message\":\"after the end\",\"call\":\"\",\"traceback\":[]}");
    nanosleep(&moment, NULL);
  }
}
