// Connects to the host over IPv4.
#include "connect.h"
#include "hostile.h"

void misbehave(void) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((unsigned short)target_number("port4"))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  reach(AF_INET, SOCK_STREAM, &address, sizeof address, "the host's loopback");
}
