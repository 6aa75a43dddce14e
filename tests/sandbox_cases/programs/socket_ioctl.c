// Asks the sockets that it was born with about the network in which they were made.
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "hostile.h"

static int lists(int fd, const char* wanted) {
  struct ifreq found[64];
  struct ifconf all = {.ifc_len = sizeof found, .ifc_req = found};
  struct in_addr address = {0};
  if (inet_aton(wanted, &address) == 0) return 0;
  if (ioctl(fd, SIOCGIFCONF, &all) != 0) return -1;
  for (size_t i = 0; i < (size_t)all.ifc_len / sizeof found[0]; ++i)
    if (((struct sockaddr_in*)&found[i].ifr_addr)->sin_addr.s_addr == address.s_addr) return 1;
  return 0;
}

void misbehave(void) {
  char wanted[64];
  strcpy(wanted, target("host_address"));
  trying("the addresses of this machine from every socket at hand");
  int sockets = 0;
  for (int fd = 0; fd < 1024; ++fd) {
    struct stat is;
    if (fstat(fd, &is) != 0 || !S_ISSOCK(is.st_mode)) continue;
    ++sockets;
    const int result = lists(fd, wanted);
    if (result > 0) escaped("descriptor %d lists the host's address %s", fd, wanted);
    if (result < 0) contained("descriptor %d: %s", fd, strerror(errno));
  }
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0) {
    ++sockets;
    if (lists(pair[0], wanted) > 0) escaped("a socket pair lists the host's address %s", wanted);
  }
  contained("%d sockets were at hand", sockets);
}
