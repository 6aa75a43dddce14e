#include <doctest/doctest.h>

#include "tests/sandbox_cases/suite.h"

namespace remotist::volunteer::cases {

TEST_CASE("a guest that connects over IPv4 reaches nobody") {
  check_contained("ipv4");
}

TEST_CASE("a guest that connects over IPv6 reaches nobody") {
  check_contained("ipv6");
}

TEST_CASE("a guest that sends a datagram reaches nobody") {
  check_contained("udp");
}

TEST_CASE("a guest that opens connections by R's own means reaches nobody") {
  check_contained("socket_r");
}

TEST_CASE("a guest that connects to a socket in the host's file system finds none") {
  check_contained("unix_socket");
}

TEST_CASE("a guest that connects to an abstract socket of the host finds none") {
  check_contained("abstract_socket");
}

TEST_CASE("a guest that asks for a name gets no answer") {
  check_contained("dns");
}

TEST_CASE("a guest that asks netlink for addresses learns none of the host's") {
  check_contained("netlink");
}

TEST_CASE("a guest that asks its inherited sockets about their network learns nothing of the host's") {
  check_contained("socket_ioctl");
}

TEST_CASE("the guest beside those on the network gives the right answer") {
  check_neighbour();
}

}  // namespace remotist::volunteer::cases
