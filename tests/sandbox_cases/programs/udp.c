// Sends the host a datagram.
#include "connect.h"
#include "hostile.h"

void misbehave(void) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons((unsigned short)target_number("port_udp"))};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  reach(AF_INET, SOCK_DGRAM, &address, sizeof address, "a datagram to the host");
}
