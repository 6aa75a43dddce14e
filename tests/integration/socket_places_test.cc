// Who takes a place among the volunteers' sockets, and for how long.
#include <doctest/doctest.h>

#include "core/limits.h"
#include "tests/support/agent.h"
#include "tests/support/dispatch.h"
#include "tests/support/eventually.h"
#include "tests/support/raw.h"

using namespace remotist;
using namespace std::chrono_literals;
using test::DispatchStack;
using test::eventually;
using test::Raw;

namespace {

std::string upgrade_request(const std::string& token) {
  return "GET /volunteer/socket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: "
         "Bearer " +
         token + "\r\n\r\n";
}

std::string http_base(const DispatchStack& stack) {
  const auto& url = stack.socket_url();
  return "http" + url.substr(2, url.find("/volunteer") - 2);
}

// A socket that was let in; it never says hello.
Raw opened(const DispatchStack& stack, const std::string& token) {
  Raw raw{http_base(stack)};
  raw.send(upgrade_request(token));
  CHECK(raw.read_until("\r\n\r\n").starts_with("HTTP/1.1 101"));
  return raw;
}

// A side that is only half closed takes bytes for ever.
bool takes_no_more(Raw& raw) {
  return eventually([&] { return !raw.send("x"); }, std::chrono::seconds{limits::kClosingSecondsMax + 20});
}

const std::string kPing{"\x89\x80\0\0\0\0", 6};

std::string pings(std::int64_t count) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) text += kPing;
  return text;
}

}  // namespace

TEST_CASE("connections without a token keep no machine out, however many there are") {
  const DispatchStack stack{{{"SOCKETS_MAX", "2"}}};
  const auto machine = stack.lend({});
  std::vector<Raw> idle;
  for (std::size_t i = 0; i < limits::kSocketsPendingMax + 50; ++i) idle.emplace_back(http_base(stack));
  CHECK(test::socket_status(stack.socket_url(), machine.token) == 101);
}

TEST_CASE("a socket that was refused or closed ends for good, though its peer keeps it open") {
  const DispatchStack stack;
  const auto machine = stack.lend({});
  Raw refused{http_base(stack)};
  refused.send("garbage\r\n\r\n");
  CHECK(refused.read_to_end().starts_with("HTTP/1.1 400"));
  Raw closed = opened(stack, machine.token);
  closed.send(std::string{"\x82\x82\0\0\0\0{}", 8});  // not text
  CHECK(closed.read_to_end().starts_with("\x88"));
  CHECK(takes_no_more(refused));
  CHECK(takes_no_more(closed));
}

TEST_CASE("a machine that connects again and again takes no more places than it may") {
  constexpr std::size_t kMax = limits::kSocketsPerMachineMax;
  const DispatchStack stack{{{"SOCKETS_MAX", std::to_string(kMax + 1)}}};
  const auto greedy = stack.lend({});
  const auto other = stack.lend({});
  std::vector<Raw> sockets;
  for (std::size_t i = 0; i < kMax; ++i) sockets.push_back(opened(stack, greedy.token));
  CHECK_FALSE(sockets.front().ends(200ms));
  for (std::size_t i = 0; i < kMax; ++i) {
    // The one before it gives its place up when its own loop has closed it.
    REQUIRE(eventually([&] { return test::socket_status(stack.socket_url(), greedy.token) == 101; }));
    sockets.push_back(opened(stack, greedy.token));
  }
  CHECK(sockets.front().ends(5s));
  CHECK(eventually([&] { return test::socket_status(stack.socket_url(), other.token) == 101; }));
}

TEST_CASE("as many messages as a machine may send are read, with more its socket is closed") {
  constexpr std::int64_t kMax = limits::kSocketMessagesPerSecondMax * limits::kSocketBurstSeconds;
  const DispatchStack stack;
  const auto machine = stack.lend({});
  Raw at_limit = opened(stack, machine.token);
  REQUIRE(at_limit.send(pings(kMax)));
  std::string pongs;
  for (std::int64_t i = 0; i < kMax; ++i) pongs += std::string{"\x8a\0", 2};
  CHECK(at_limit.read_until(pongs) == pongs);
  CHECK_FALSE(at_limit.ended());
  Raw past = opened(stack, machine.token);
  (void)past.send(pings(4 * kMax));
  const auto answer = past.read_to_end();
  const auto close = answer.find('\x88');
  REQUIRE(close != std::string::npos);
  REQUIRE(answer.size() > close + 4);
  CHECK((static_cast<unsigned char>(answer[close + 2]) << 8 |
         static_cast<unsigned char>(answer[close + 3])) == 1008);
}
