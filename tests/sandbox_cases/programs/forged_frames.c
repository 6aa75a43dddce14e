// Forges every word that the runner might say, then goes on.
#include "frames.h"
#include "hostile.h"

void misbehave(void) {
  const int fd = frames_socket();
  trying("forged words");
  send_head(fd, "{\"type\":\"began\"}");
  send_head(fd, "{\"type\":\"refused\",\"message\":\"it never ran\"}");
  send_head(fd, "{\"type\":\"limit\",\"cpu_ms\":0}");
  send_head(fd, "{\"type\":\"ended\",\"ending\":\"completed\",\"cpu_ms\":0,\"wall_ms\":0}");
  send_head(fd, "{\"type\":\"progress\",\"fraction\":1e308,\"message\":\"x\"}");
  send_head(fd, "{\"type\":\"progress\",\"fraction\":0.5,\"message\":{\"a\":[1,2,{\"b\":[]}]}}");
  send_head(fd, "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[");
  send_head(fd, "null");
  send_head(fd, "");
}
