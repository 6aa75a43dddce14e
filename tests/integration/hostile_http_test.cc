// Bytes that are no HTTP, or HTTP that nobody should send, straight to a market: it answers as far as HTTP
// lets it, changes nothing and lives on. What Debian's Drogon reads wrongly is kept from it by the proxy
// (docs/decisions/0005); the last test case goes through that, where there is one.
#include <algorithm>
#include <doctest/doctest.h>
#include <iterator>

#include "core/limits.h"
#include "tests/support/environment.h"
#include "tests/support/http.h"
#include "tests/support/raw.h"
#include "tests/support/untouched.h"

using namespace remotist;
using namespace std::chrono_literals;
using test::answer_to;
using test::Raw;
using test::request_text;

namespace {

std::string own_market_url() {
  return test::market_urls().front();
}

std::string post(std::string_view headers, std::string_view rest = {}) {
  return request_text("POST", "/user/login", headers) + std::string{rest};
}

// Statuses that say "I cannot read this"; 0 is a connection closed without a word.
bool refuses(int status) {
  return std::ranges::contains(std::vector{0, 400, 405, 408, 413, 414, 417, 431, 501, 505}, status);
}

struct Bad {
  const char* what;
  std::string bytes;
};

}  // namespace

TEST_CASE("what cannot be read as a request is refused and the connection closed; nothing changes") {
  const test::Untouched untouched;
  const std::string nuls(64, '\0');
  for (const auto& [what, bytes] : std::vector<Bad>{
           {"a TLS hello", "\x16\x03\x01\x02\x05\x01\x01\xfc\x03\x03 and so on\r\n\r\n"},
           {"nothing but zeros", nuls},
           {"a line without blanks", "GET/healthz\r\n\r\n"},
           {"a method alone", "GET \r\n\r\n"},
           {"a method that is none", "FETCH /healthz HTTP/1.1\r\n\r\n"},
           {"a method in lower case", "get /healthz HTTP/1.1\r\n\r\n"},
           {"no version", "GET /healthz\r\n\r\n"},
           {"another protocol", "GET /healthz SPDY/3\r\n\r\n"},
           {"version 2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
           {"version 9", "GET /healthz HTTP/9.9\r\n\r\n"},
           {"words after the version", "GET /healthz HTTP/1.1 please\r\n\r\n"},
           {"a blank in the path", "GET /health z HTTP/1.1\r\n\r\n"},
           {"a request line of 64 KiB", "GET /" + std::string(65536, 'a')},
           {"a header line of 64 KiB", "GET /healthz HTTP/1.1\r\nX: " + std::string(65536, 'a')},
           {"a length in words", post("Content-Length: many\r\n")},
           {"a length below zero", post("Content-Length: -1\r\n")},
           {"a length over the limit", post("Content-Length: 99999999999\r\n")},
           {"a length over 2^64", post("Content-Length: 18446744073709551616\r\n")},
           {"another encoding", post("Transfer-Encoding: gzip\r\n")},
           {"chunks in another encoding", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n")},
           {"a huge chunk", post("Transfer-Encoding: chunked\r\n", "7FFFFFFFFFFFFFFF\r\n{}\r\n0\r\n\r\n")},
           {"a chunk over the limit", post("Transfer-Encoding: chunked\r\n", "110001\r\n")},
           {"a chunk of endless digits", post("Transfer-Encoding: chunked\r\n", std::string(100, 'F'))},
           {"a chunk that is longer than it says",
            post("Transfer-Encoding: chunked\r\n", "2\r\n{}}}\r\n0\r\n\r\n")},
           {"something behind the last chunk",
            post("Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\nX: y\r\n\r\n")},
           {"an expectation that is none", post("Expect: the unexpected\r\nContent-Length: 2\r\n", "{}")},
       }) {
    CAPTURE(what);
    Raw connection{own_market_url()};
    connection.send(bytes);
    connection.finish();
    const auto answer = connection.answer();
    CHECK_MESSAGE(refuses(answer.status), answer.status << " " << answer.body);
    CHECK(connection.ends(5s));
  }
}

TEST_CASE("lengths that contradict each other make no second request, and nothing changes") {
  const test::Untouched untouched;
  for (const auto& [what, bytes] : std::vector<Bad>{
           {"two lengths, the same", post("Content-Length: 2\r\nContent-Length: 2\r\n", "{}")},
           {"two lengths, the second longer", post("Content-Length: 2\r\nContent-Length: 6\r\n", "{}{}{}")},
           {"a length and chunks", post("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "{}")},
           {"a header without a name", post(": x\r\nContent-Length: 2\r\n", "{}")},
           {"a header of nothing but blanks", post("   :   \r\nContent-Length: 2\r\n", "{}")},
           {"broken cookies", post("Cookie: =;;=a; b; c=\"; \xff=\x01\r\nContent-Length: 2\r\n", "{}")},
           {"a form",
            post("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n", "a=%&%=%zz")},
           {"an upload without parts",
            post("Content-Type: multipart/form-data; boundary=\r\nContent-Length: 2\r\n", "--")},
           {"an answer's encoding that is none",
            post("Accept-Encoding: \xff, gzip;q=x\r\nContent-Length: 2\r\n", "{}")},
           {"a body that is not compressed", post("Content-Encoding: br\r\nContent-Length: 2\r\n", "{}")},
       }) {
    CAPTURE(what);
    const auto answer = answer_to(own_market_url(), bytes);
    // Read one way or another; either it was a login without e-mail, or no request.
    CHECK((answer.status == 400 || answer.status == 422 || answer.status == 501));
    if (answer.status == 422) CHECK(answer.is_problem());
  }
}

TEST_CASE("paths lead to a route or nowhere: no dots, escapes, zeros or double slashes lead elsewhere") {
  const test::Untouched untouched;
  for (const std::string path : {"/..",
                                 "/../../../../etc/passwd",
                                 "/%2e%2e/%2e%2e/etc/passwd",
                                 "/healthz/../metrics",
                                 "/healthz/%2e%2e/metrics",
                                 "/job/../metrics",
                                 "/job/%2e%2e%2fmetrics",
                                 "/..%2fmetrics",
                                 "/..%5cmetrics",
                                 "/.",
                                 "/./healthz",
                                 "//healthz",
                                 "/healthz//",
                                 "//",
                                 "/%00",
                                 "/healthz%00",
                                 "/healthz%00.json",
                                 "/%00healthz",
                                 "/healthz%20",
                                 "/healthz;a=b",
                                 "/healthz%3f",
                                 "/HEALTHZ",
                                 "/%",
                                 "/%zz",
                                 "/%2",
                                 "/\xff\xfe",
                                 "/%c0%ae%c0%ae/metrics",
                                 "/user%2flogin%2f..",
                                 "/admin/users/../jobs",
                                 "/static/index.html",
                                 "/favicon.ico",
                                 "/drogon"}) {
    CAPTURE(path);
    const auto answer = answer_to(own_market_url(), request_text("GET", path));
    CHECK(answer.status == 404);
    CHECK(answer.is_problem());
    CHECK(answer.code() == "not_found");
  }
  for (const std::size_t bytes : {std::size_t{1000}, std::size_t{8000}, std::size_t{60'000}}) {
    CAPTURE(bytes);
    const auto nowhere = answer_to(own_market_url(), request_text("GET", "/" + std::string(bytes, 'a')));
    CHECK(nowhere.status == 404);
    CHECK(nowhere.is_problem());
    // An id that long is asked for only by somebody with a token.
    CHECK(answer_to(own_market_url(), request_text("GET", "/job/" + std::string(bytes, 'a'))).code() ==
          "unauthenticated");
    CHECK(answer_to(own_market_url(), request_text("GET", "/healthz?" + std::string(bytes, 'a'))).status ==
          200);
    CHECK(answer_to(own_market_url(), request_text(
                                          "GET", "/" +
                                                     [&] {
                                                       std::string slashes;
                                                       for (std::size_t i = 0; i < bytes / 2; ++i)
                                                         slashes += "a/";
                                                       return slashes;
                                                     }()))
              .code() == "not_found");
  }
}

TEST_CASE("a whole URL as the target means its path, and a star means the root") {
  const test::Untouched untouched;
  CHECK(answer_to(own_market_url(), request_text("GET", "http://other.example/healthz")).status == 200);
  CHECK(answer_to(own_market_url(), request_text("GET", "http://other.example/../etc/passwd")).code() ==
        "not_found");
  CHECK(answer_to(own_market_url(), request_text("GET", "http://other.example")).headers.at("location") ==
        "/docs/");
  CHECK(answer_to(own_market_url(), request_text("OPTIONS", "*")).code() == "method_not_allowed");
}

TEST_CASE("a method that a path does not take is refused with those that it takes") {
  const test::Untouched untouched;
  for (const char* method : {"GET", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
    CAPTURE(method);
    const auto answer = answer_to(own_market_url(), request_text(method, "/user/login"));
    CHECK(answer.status == 405);
    CHECK(answer.is_problem());
    CHECK(answer.headers.at("allow") == "POST");
  }
  for (const char* method : {"TRACE", "CONNECT", "PROPFIND"}) {
    CAPTURE(method);
    CHECK(answer_to(own_market_url(), request_text(method, "/user/login")).status == 405);
  }
  const auto upgrade = answer_to(
      own_market_url(), request_text("GET", "/healthz/socket",
                                     "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: "
                                     "13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"));
  CHECK(upgrade.status == 404);
  CHECK(upgrade.is_problem());
}

TEST_CASE("very many headers and very long ones are read or refused, and the market lives on") {
  const test::Untouched untouched;
  std::string many;
  for (int i = 0; i < 20'000; ++i) many += "X-" + std::to_string(i) + ": " + std::string(40, 'x') + "\r\n";
  CHECK(answer_to(own_market_url(), request_text("GET", "/nowhere", many)).is_problem());
  std::string same;
  for (int i = 0; i < 20'000; ++i) same += "Authorization: Bearer " + std::to_string(i) + "\r\n";
  CHECK(answer_to(own_market_url(), request_text("GET", "/user/", same)).code() == "unauthenticated");
  const std::string longest(60'000, 'x');
  CHECK(
      answer_to(own_market_url(), request_text("GET", "/user/", "Authorization: Bearer " + longest + "\r\n"))
          .code() == "unauthenticated");
  CHECK(answer_to(own_market_url(), request_text("GET", "/user/", "X-Forwarded-For: " + longest + "\r\n"))
            .code() == "unauthenticated");
}

TEST_CASE("the proxy refuses what the market would misread, and gives problem documents where it can") {
  const std::string proxy = test::env("REMOTIST_URL");
  if (std::ranges::contains(test::market_urls(), proxy)) return;  // this stack has none
  const test::Untouched untouched;
  std::string many;
  for (int i = 0; i < 200; ++i) many += "X-" + std::to_string(i) + ": x\r\n";
  for (const auto& [what, bytes] : std::vector<Bad>{
           {"a chunk of negative length", post("Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n-2\r\nXXXX")},
           {"a chunk that wraps around",
            post("Transfer-Encoding: chunked\r\n", "2\r\n{}\r\nFFFFFFFFFFFFFFFE\r\nXXXX")},
           {"a chunk in words", post("Transfer-Encoding: chunked\r\n", "two\r\n{}\r\n0\r\n\r\n")},
           {"two lengths", post("Content-Length: 2\r\nContent-Length: 6\r\n", "{}{}{}")},
           {"a length with a sign", post("Content-Length: +2\r\n", "{}")},
           {"a length in hexadecimal", post("Content-Length: 0x2\r\n", "{}")},
           {"a header without a colon", post("no colon\r\nContent-Length: 2\r\n", "{}")},
           {"200 headers", request_text("GET", "/healthz", many)},
           {"a header of 20 KiB", request_text("GET", "/healthz", "X: " + std::string(20'000, 'x') + "\r\n")},
           {"a path of 20 KiB", request_text("GET", "/" + std::string(20'000, 'x'))},
           {"a TLS hello", "\x16\x03\x01\x02\x05\x01\x01\xfc\x03\x03 and so on\r\n\r\n"},
       }) {
    CAPTURE(what);
    Raw connection{proxy};
    connection.send(bytes);
    const auto answer = connection.answer();
    CHECK_MESSAGE(refuses(answer.status), answer.status << " " << answer.body);
    CHECK(connection.ends(5s));
  }
  const auto too_large =
      answer_to(proxy, post("Content-Length: " + std::to_string(limits::kBodyBytesMax + 1) + "\r\n"));
  CHECK(too_large.status == 413);
  CHECK(too_large.is_problem());
  CHECK(too_large.code() == "too_large");
  const auto star = answer_to(proxy, request_text("OPTIONS", "*"));
  CHECK(star.status == 400);
  CHECK(star.is_problem());
}
