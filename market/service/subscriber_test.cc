#include "market/service/subscriber.h"

#include <doctest/doctest.h>

using namespace remotist::market;

TEST_CASE("an IPv4 address is a subscriber, and so is a /64 of IPv6, however it is written") {
  CHECK(subscriber_of("192.0.2.1") == "192.0.2.1");
  CHECK(subscriber_of("::ffff:192.0.2.1") == "192.0.2.1");
  CHECK(subscriber_of("::ffff:c000:201") == "192.0.2.1");
  CHECK(subscriber_of("2001:db8:0:1::1") == "2001:db8:0:1::/64");
  CHECK(subscriber_of("2001:DB8:0:1:ffff:ffff:ffff:ffff") == "2001:db8:0:1::/64");
  CHECK(subscriber_of("2001:db8:0:2::1") == "2001:db8:0:2::/64");
  CHECK(subscriber_of("::1") == "::/64");
}

TEST_CASE("an IPv4 address that is written as IPv6 is written plainly, and nothing else changes") {
  CHECK(plain_address("::ffff:192.0.2.1") == "192.0.2.1");
  CHECK(plain_address("::ffff:c000:201") == "192.0.2.1");
  for (const char* same : {"192.0.2.1", "2001:db8::1", "::1", "unknown", ""})
    CHECK(plain_address(same) == same);
}

TEST_CASE("addresses and networks are told from other text") {
  for (const char* good :
       {"192.0.2.1", "192.0.2.0/24", "192.0.2.1/32", "2001:db8::", "2001:db8::/128", "::/0"}) {
    CHECK_MESSAGE(is_network(good), good);
  }
  for (const char* bad : {"", "x", "192.0.2", "192.0.2.1/33", "::/129", "::/", "::/-1", "::/-0", "::/0000",
                          "::/6x", "1.2.3.4/ 8"}) {
    CHECK_FALSE_MESSAGE(is_network(bad), bad);
  }
}

TEST_CASE("a text that goes on behind a zero byte is no address") {
  using namespace std::string_literals;
  CHECK_FALSE(is_network("192.0.2.1\0"s));
  CHECK_FALSE(is_network("2001:db8::\0x/64"s));
  CHECK(plain_address("::ffff:192.0.2.1\0x"s) == "::ffff:192.0.2.1\0x"s);
  CHECK_FALSE(forwarded_address("192.0.2.1\0x"s));
}

TEST_CASE("of X-Forwarded-For only the last address counts") {
  CHECK(forwarded_address("192.0.2.1") == "192.0.2.1");
  CHECK(forwarded_address("203.0.113.9, 192.0.2.1") == "192.0.2.1");
  CHECK(forwarded_address("x,::ffff:192.0.2.1 ") == "192.0.2.1");
  for (const char* none : {"", ",", "192.0.2.1,", "unknown", "192.0.2.1 x", "192.0.2.0/24"})
    CHECK_FALSE_MESSAGE(forwarded_address(none), none);
}
