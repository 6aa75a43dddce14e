// Connects to an abstract socket of the host, which no file system hides.
#include "connect.h"
#include "hostile.h"

void misbehave(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strcpy(address.sun_path + 1, target("abstract_socket"));
  reach(AF_UNIX, SOCK_STREAM, &address,
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(target("abstract_socket"))),
        "an abstract socket of the host");
}
