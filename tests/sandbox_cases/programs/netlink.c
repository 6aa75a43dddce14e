// Asks the kernel for the addresses of this machine.
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "hostile.h"

static int lists(char* answer, ssize_t length, const char* wanted) {
  struct in_addr address = {0};
  if (inet_aton(wanted, &address) == 0) return 0;
  struct nlmsghdr* head = (struct nlmsghdr*)answer;
  for (; NLMSG_OK(head, (unsigned)length); head = NLMSG_NEXT(head, length)) {
    if (head->nlmsg_type != RTM_NEWADDR) continue;
    struct ifaddrmsg* const message = NLMSG_DATA(head);
    int rest = (int)IFA_PAYLOAD(head);
    for (struct rtattr* a = IFA_RTA(message); RTA_OK(a, rest); a = RTA_NEXT(a, rest))
      if (RTA_PAYLOAD(a) == sizeof address && memcmp(RTA_DATA(a), &address, sizeof address) == 0) return 1;
  }
  return 0;
}

void misbehave(void) {
  trying("a netlink dump of the addresses");
  const int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  if (fd < 0) {
    contained("socket: %s", strerror(errno));
    return;
  }
  struct {
    struct nlmsghdr head;
    struct ifaddrmsg message;
  } ask = {
      .head = {.nlmsg_len = sizeof ask, .nlmsg_type = RTM_GETADDR, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
      .message = {.ifa_family = AF_INET}};
  _Alignas(struct nlmsghdr) char answer[32768];
  if (send(fd, &ask, sizeof ask, 0) < 0) {
    contained("send: %s", strerror(errno));
    return;
  }
  const ssize_t length = recv(fd, answer, sizeof answer, 0);
  if (length > 0 && lists(answer, length, target("host_address"))) {
    escaped("the host's address %s", target("host_address"));
  } else {
    contained("no address of the host");
  }
}
