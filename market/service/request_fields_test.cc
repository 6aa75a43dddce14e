#include "market/service/request_fields.h"

#include <doctest/doctest.h>
#include <string>

using namespace remotist;
using namespace remotist::market;

TEST_CASE("zstd is taken unless it is missing or its weight is zero") {
  for (const char* taken : {"zstd", "br, zstd;q=0.5", "gzip,zstd", "zstd ;q=1.0", "zstd;q=0.001"})
    CHECK_MESSAGE(takes_zstd(taken), taken);
  for (const char* refused : {"", "br", "zstd;q=0", "zstd;q=0.000, br", "zstdx", "xzstd", "*"})
    CHECK_FALSE_MESSAGE(takes_zstd(refused), refused);
}

TEST_CASE("the body of a chunk is plain or zstd, and nothing else") {
  CHECK(read_encoding("").value() == Encoding::plain);
  CHECK(read_encoding("identity").value() == Encoding::plain);
  CHECK(read_encoding("zstd").value() == Encoding::zstd);
  for (const char* refused : {"gzip", "zstd, zstd", "ZSTD", " zstd"})
    CHECK_MESSAGE(read_encoding(refused).refusal().code == Code::unsupported_media_type, refused);
}

TEST_CASE("an ETag is known from a list that has it, and from *") {
  const auto tag = etag_of("a body");
  CHECK(tag.size() == 34);
  for (const std::string& known : {tag, "W/" + tag, etag_of("another") + ", " + tag, std::string{"*"}})
    CHECK_MESSAGE(is_known_etag(known, tag), known);
  for (const std::string& other : {std::string{}, etag_of("another"), tag.substr(0, 33), std::string{"**"}})
    CHECK_FALSE_MESSAGE(is_known_etag(other, tag), other);
}

TEST_CASE("a text that PostgreSQL would refuse is refused before it is asked") {
  CHECK(check_query_text("é 1", "action").ok());
  for (const std::string& wrong : {std::string{"\xff"}, std::string{"a\0b", 3}, std::string{"\xc3"}}) {
    const auto checked = check_query_text(wrong, "action");
    REQUIRE_FALSE(checked.ok());
    CHECK(checked.refusal().code == Code::invalid_field);
    CHECK(checked.refusal().field == "action");
  }
}
