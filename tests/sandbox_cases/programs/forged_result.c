// Puts a link to a file of the host where its result belongs, and says that it has completed.
#include "frames.h"
#include "hostile.h"

void misbehave(void) {
  const int fd = frames_socket();
  trying("a link for a result");
  if (symlink(target("token"), "/out/result.rds") != 0) contained("symlink: %s", strerror(errno));
  send_head(fd, "{\"type\":\"completed\"}");
  _exit(0);
}
