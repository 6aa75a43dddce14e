// Sends bytes that are no frames, the same ones for the same seed.
#include "frames.h"
#include "hostile.h"

void misbehave(void) {
  const int fd = frames_socket();
  unsigned state = (unsigned)target_number("seed");
  unsigned char bytes[8192];
  trying("garbage with the seed %u", state);
  for (size_t i = 0; i < sizeof bytes; ++i) {
    state = state * 1664525U + 1013904223U;
    // Short lengths now and then, so that some of it is read as frames.
    bytes[i] = i % 4 == 0 || i % 4 == 3 ? (unsigned char)(state >> 24) : 0;
  }
  if (write(fd, bytes, sizeof bytes) < 0) contained("write: %s", strerror(errno));
}
