#include "core/digest.h"

#include <doctest/doctest.h>

using namespace remotist;

TEST_CASE("SHA-256 gives the published answers") {
  CHECK(hex_of(sha256("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(hex_of(sha256("abc")) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_CASE("random bytes are as many as asked for, and others each time") {
  CHECK(random_bytes(32).size() == 32);
  CHECK(random_bytes(32) != random_bytes(32));
  CHECK(base64url_of(random_bytes(32)).size() == 43);
  CHECK(base64url_of("\xfb\xff") == "-_8");
  CHECK(base64_of("\xfb\xff") == "+/8=");
}

TEST_CASE("hexadecimal digits and base64url are read back, and nothing that only looks like them") {
  CHECK(bytes_of_hex("00ff10", 3) == std::string{"\x00\xff\x10", 3});
  for (const char* wrong : {"00ff1", "00ff1000", "00FF10", "00ff1g", "0x00ff", ""}) {
    CAPTURE(wrong);
    CHECK_FALSE(bytes_of_hex(wrong, 3).has_value());
  }
  CHECK(bytes_of_base64url("-_8", 2) == "\xfb\xff");
  for (const char* wrong : {"-_8=", "+/8", "-_", "-_8A", "- _8", ""}) {
    CAPTURE(wrong);
    CHECK_FALSE(bytes_of_base64url(wrong, 2).has_value());
  }
}

TEST_CASE("what is no ASCII is no base64") {
  CHECK_FALSE(bytes_of_base64("\xf8n\xe0\xddyban").has_value());
  CHECK_FALSE(bytes_of_base64url("\xf8n\xe0\xddyban", 6).has_value());
}

TEST_CASE("a signature is right for its key and message alone") {
  const SigningKey key{std::string(SigningKey::kSeedBytes, 'k')};
  const SigningKey other{std::string(SigningKey::kSeedBytes, 'o')};
  const std::string signature = key.sign("message");
  CHECK(signature_is_right(key.public_key(), "message", signature));
  CHECK_FALSE(signature_is_right(key.public_key(), "massage", signature));
  CHECK_FALSE(signature_is_right(other.public_key(), "message", signature));
  CHECK_FALSE(signature_is_right(key.public_key(), "message", signature.substr(1)));
  CHECK_FALSE(signature_is_right("short", "message", signature));
}
