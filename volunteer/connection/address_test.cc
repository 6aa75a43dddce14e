#include "volunteer/connection/address.h"

#include <curl/curl.h>
#include <doctest/doctest.h>
#include <stdexcept>

namespace remotist::volunteer {

TEST_CASE("only this machine's own addresses are loopback, however they are dressed up") {
  for (const auto* url : {"http://localhost", "http://localhost:8080/x", "http://127.0.0.1:8080",
                          "http://127.9.8.7", "ws://[::1]:80/volunteer/socket", "http://user@127.0.0.1/"}) {
    CAPTURE(url);
    CHECK(is_loopback(url));
  }
  for (const auto* url :
       {"http://market.example", "http://127.evil.example", "http://localhost.evil.example",
        "http://127.0.0.1@evil.example/", "http://localhost:80@evil.example", "http://[::2]",
        "http://[fe80::1]", "http://192.168.0.1", "http://0.0.0.0", "nonsense", ""}) {
    CAPTURE(url);
    CHECK_FALSE(is_loopback(url));
  }
}

TEST_CASE("a password that leaves the machine as plain text is warned of") {
  CHECK(plaintext_warning("http://market.example").find("https://") != std::string::npos);
  CHECK_FALSE(plaintext_warning("http://127.0.0.1@evil.example").empty());
  CHECK(plaintext_warning("https://market.example").empty());
  CHECK(plaintext_warning("http://127.0.0.1:8080").empty());
}

TEST_CASE("a token that came over TLS goes nowhere as plain text, unless the owner says so") {
  const std::string https = "https://market.example";
  CHECK_NOTHROW(check_socket_url(https, "wss://market.example/volunteer/socket", false));
  CHECK_NOTHROW(check_socket_url("http://127.0.0.1:8080", "ws://127.0.0.1:8080/volunteer/socket", false));
  CHECK_NOTHROW(check_socket_url("http://127.0.0.1:8080", "wss://market.example/volunteer/socket", false));
  CHECK_NOTHROW(check_socket_url(https, "ws://market.example/volunteer/socket", true));
  CHECK_THROWS_AS(check_socket_url(https, "ws://market.example/volunteer/socket", false), std::runtime_error);
  // A market that was not told its own address sends machines here.
  CHECK_THROWS_AS(check_socket_url(https, "ws://127.0.0.1:8081/volunteer/socket", false), std::runtime_error);
  for (const auto* odd : {"", "http://market.example", "file:///etc/passwd", "WS://market.example",
                          " wss://market.example", "telnet://market.example"}) {
    CAPTURE(odd);
    CHECK_THROWS_AS(check_socket_url(https, odd, true), std::runtime_error);
    CHECK_THROWS_AS(check_socket_url("http://market.example", odd, true), std::runtime_error);
  }
}

TEST_CASE("only an answer that does not fit the scheme is explained by it") {
  CHECK(scheme_hint("ws://market.example", CURLE_GOT_NOTHING).find("https://") != std::string::npos);
  CHECK(scheme_hint("ws://market.example", CURLE_COULDNT_CONNECT).empty());
  CHECK(scheme_hint("wss://market.example", CURLE_GOT_NOTHING).empty());
  // Nobody is advised to go without encryption.
  const auto without = scheme_hint("wss://market.example", CURLE_SSL_CONNECT_ERROR);
  CHECK_FALSE(without.empty());
  CHECK(without.find("http://") == std::string::npos);
}

}  // namespace remotist::volunteer
