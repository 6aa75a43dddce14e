#include "core/amqp/address.h"

#include <array>
#include <doctest/doctest.h>

namespace remotist::amqp {

TEST_CASE("a full URL is taken apart") {
  const auto address = Address::parse("amqp://market:secret@broker.example.org:5673/shop");
  REQUIRE(address.ok());
  CHECK(address->host == "broker.example.org");
  CHECK(address->port == 5673);
  CHECK(address->user == "market");
  CHECK(address->password == "secret");
  CHECK(address->virtual_host == "shop");
}

TEST_CASE("port and virtual host have defaults") {
  for (const char* url : {"amqp://u:p@localhost", "amqp://u:p@localhost/"}) {
    CAPTURE(url);
    const auto address = Address::parse(url);
    REQUIRE(address.ok());
    CHECK(address->port == 5672);
    CHECK(address->virtual_host == "/");
  }
}

TEST_CASE("delimiters in user, password and virtual host are percent-encoded") {
  const auto address = Address::parse("amqp://us%65r%40home:p%2Fa%25w%3aord@[::1]:1/%2Fx");
  REQUIRE(address.ok());
  CHECK(address->user == "user@home");
  CHECK(address->password == "p/a%w:ord");
  CHECK(address->host == "::1");
  CHECK(address->port == 1);
  CHECK(address->virtual_host == "/x");
}

TEST_CASE("what is shown has neither user nor password") {
  CHECK(Address::parse("amqp://bob:hunter2@h:1")->shown() == "h:1/");
  CHECK(Address::parse("amqp://bob:hunter2@h/v")->shown() == "h:5672/v");
  CHECK(Address::parse("amqp://bob:hunter2@[::1]/v")->shown() == "[::1]:5672/v");
}

TEST_CASE("a bad URL is refused, and the refusal repeats nothing of it") {
  constexpr std::array kBad{
      "",
      "hunter2",
      "http://bob:hunter2@h",
      "amqps://bob:hunter2@h",
      "amqp://",
      "amqp://h",
      "amqp://hunter2@h",
      "amqp://bob:@h",
      "amqp://:hunter2@h",
      "amqp://bob:hunter2@",
      "amqp://bob:hunter2@:5672",
      "amqp://bob:hunter2@h:",
      "amqp://bob:hunter2@h:0",
      "amqp://bob:hunter2@h:65536",
      "amqp://bob:hunter2@h:-1",
      "amqp://bob:hunter2@h:5672x",
      "amqp://bob:hunter2@h h",
      "amqp://bob:hunter2@h\n",
      "amqp://bob:hunter2@[::1",
      "amqp://bob:hunter2@[::1]x",
      "amqp://bob:hunter2@h/a/b",
      "amqp://bob:hunter2@h/a?heartbeat=1",
      "amqp://bob:hunter2@h/%",
      "amqp://bob:hunter2@h/%0",
      "amqp://bob:hunter2@h/%zz",
      "amqp://bob:hunter2@h/%00",
      "amqp://bob:hunter2%00@h",
      "amqp://bob:hunter2#@h",
      "amqp://bob:hun/ter2@h",
      "amqp://bob:hun@ter2@h",
      "amqp://bob:hun:ter2@h",
  };
  for (const char* url : kBad) {
    CAPTURE(url);
    const auto address = Address::parse(url);
    REQUIRE_FALSE(address.ok());
    CHECK(address.refusal().code == Code::invalid_field);
    CHECK(address.refusal().detail.find("hunter") == std::string::npos);
    CHECK(address.refusal().detail.find("ter2") == std::string::npos);
  }
}

TEST_CASE("a virtual host may have 255 bytes and not one more") {
  const std::string longest(255, 'v');
  CHECK(Address::parse("amqp://u:p@h/" + longest)->virtual_host == longest);
  CHECK_FALSE(Address::parse("amqp://u:p@h/" + longest + "v").ok());
}

}  // namespace remotist::amqp
