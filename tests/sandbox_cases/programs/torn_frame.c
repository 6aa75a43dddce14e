// Begins a frame, and lets the runner's own words be its rest.
#include "frames.h"
#include "hostile.h"

void misbehave(void) {
  const int fd = frames_socket();
  trying("a torn frame");
  send_lengths(fd, 20000, 200000);
  if (write(fd, "{\"type\":", 8) != 8) contained("write: %s", strerror(errno));
}
