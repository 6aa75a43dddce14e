#include "core/pg/url.h"

#include <doctest/doctest.h>
#include <stdexcept>

using namespace remotist::pg;

TEST_CASE("a database URL that libpq cannot read is refused without repeating it") {
  for (const char* bad : {"", "postgresql://u:s3cret@[::1/x", "nonsense s3cret", "postgresql://h/x?s3cret"}) {
    CAPTURE(bad);
    const auto checked = check_url(bad);
    REQUIRE_FALSE(checked.ok());
    CHECK(checked.refusal().detail.find("s3cret") == std::string::npos);
  }
  for (const char* good : {"postgresql:///x", "postgresql://u@/x?host=/tmp/y", "host=/tmp dbname=x"}) {
    CHECK(check_url(good).ok());
  }
}

TEST_CASE("a password in a database URL is seen in each of its forms") {
  CHECK(has_password("postgresql://u:p@h/x"));
  CHECK(has_password("postgresql://u@h/x?password=p"));
  CHECK(has_password("host=h password=p"));
  CHECK_FALSE(has_password("postgresql://u@h/x"));
}

TEST_CASE("settings are added to either form of a URL and quoted") {
  CHECK(with_settings("host=/tmp dbname='a b'", {{"options", "-c x=it's \\ so"}}) ==
        R"(dbname='a b' host='/tmp' options='-c x=it\'s \\ so' )");
  CHECK(with_settings("postgresql://u@/x?host=/tmp&connect_timeout=9", {{"connect_timeout", "3"}}) ==
        "connect_timeout='3' dbname='x' host='/tmp' user='u' ");
  CHECK_THROWS_AS((void)with_settings("nonsense", {}), std::invalid_argument);
}
