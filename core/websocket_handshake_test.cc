#include "core/websocket_handshake.h"

#include <doctest/doctest.h>
#include <format>

#include "core/json.h"
#include "core/utf8.h"
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/heads.h"

using namespace remotist;
using namespace remotist::websocket;

namespace {

std::string request(std::string_view line, std::string_view headers) {
  return std::string{line} + "\r\nHost: x\r\n" + std::string{headers} + "\r\n";
}

constexpr std::string_view kLine = "GET /volunteer/socket?x=1 HTTP/1.1";
constexpr std::string_view kHeaders =
    "upgrade: WebSocket\r\nCONNECTION: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer secret\r\n";

}  // namespace

TEST_CASE("a request for a WebSocket is read whatever the case of its headers") {
  const auto read = read_handshake(request(kLine, kHeaders));
  REQUIRE(read.ok());
  CHECK(read->path == "/volunteer/socket");
  CHECK(read->key == "dGhlIHNhbXBsZSBub25jZQ==");
  CHECK(read->bearer == "secret");
}

TEST_CASE("what is no request for a WebSocket is refused") {
  for (const char* line :
       {"POST / HTTP/1.1", "GET / HTTP/1.0", "GET HTTP/1.1", "GET  HTTP/1.1", "", "\r\n"}) {
    CAPTURE(line);
    CHECK(!read_handshake(request(line, kHeaders)).ok());
  }
  CHECK(!read_handshake(request(kLine, "")).ok());
  CHECK(!read_handshake(
             request(kLine, "Upgrade: websocket\r\nConnection: close\r\nSec-WebSocket-Version: 13\r\n"))
             .ok());
  CHECK(!read_handshake(
             request(kLine, "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 8\r\n"))
             .ok());
  CHECK(!read_handshake(request(kLine, "no colon\r\n")).ok());
}

TEST_CASE("a request for a WebSocket has no control characters") {
  for (const char c : {'\r', '\n', '\x01', '\x7f'}) {
    CHECK(!read_handshake(request(kLine, std::format("{}A: b{}c\r\n", kHeaders, c))).ok());
    CHECK(!read_handshake(request(std::format("GET /volunteer{}/socket HTTP/1.1", c), kHeaders)).ok());
  }
  CHECK(read_handshake(request(kLine, std::format("{}A: b\tc\r\n", kHeaders))).ok());
}

TEST_CASE("the head of a request ends with an empty line") {
  CHECK(!head_end("GET / HTTP/1.1\r\nA: b\r\n"));
  CHECK(head_end("GET / HTTP/1.1\r\n\r\nrest") == 18);
}

TEST_CASE("a refusal is an HTTP response with a problem document, also when its text is not UTF-8") {
  for (const std::string detail : {"because", "because of \xff", "\xe2\x80"}) {
    const auto response = refusal_response(refuse(Code::malformed_request, detail), "the-request");
    CHECK(response.starts_with("HTTP/1.1 400 "));
    const auto end = head_end(response);
    REQUIRE(end);
    const auto body = response.substr(*end);
    CHECK(response.contains(std::format("\r\nContent-Length: {}\r\n", body.size())));
    CHECK(is_utf8(body));
    CHECK(json_in(body).at("code") == "malformed_request");
  }
}

TEST_CASE("heads that the fuzzer starts from or once found break nothing") {
  fuzz::check_corpus("heads", fuzz::heads_broken_by);
}
