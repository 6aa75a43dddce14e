// Connects to a socket in the host's file system.
#include "connect.h"
#include "hostile.h"

void misbehave(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path, target("unix_socket"));
  reach(AF_UNIX, SOCK_STREAM, &address, sizeof address, "a socket in the host's file system");
}
