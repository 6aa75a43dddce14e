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
