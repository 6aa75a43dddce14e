// Connects to the host over IPv6.
#include "connect.h"
#include "hostile.h"

void misbehave(void) {
  struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                 .sin6_port = htons((unsigned short)target_number("port6"))};
  address.sin6_addr = in6addr_loopback;
  reach(AF_INET6, SOCK_STREAM, &address, sizeof address, "the host's loopback, IPv6");
}
