// Who gets a volunteer's socket, and what happens to those who misuse it.
#include <doctest/doctest.h>
#include <thread>

#include "core/json.h"
#include "core/limits.h"
#include "core/websocket.h"
#include "tests/support/agent.h"
#include "tests/support/dispatch.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"
#include "tests/support/raw.h"

using namespace remotist;
using namespace std::chrono_literals;
using test::Agent;
using test::DispatchStack;

namespace {

// A message as a client frames it, masked with zeros.
std::string frame(unsigned char first, std::uint64_t length, const std::string& payload, bool masked = true) {
  std::string bytes{static_cast<char>(first)};
  const char mask = masked ? '\x80' : '\0';
  if (length < 126) {
    bytes.push_back(static_cast<char>(mask | static_cast<char>(length)));
  } else if (length <= 0xffff) {
    bytes.push_back(static_cast<char>(mask | 126));
    for (int shift = 8; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(length >> shift));
  } else {
    bytes.push_back(static_cast<char>(mask | 127));
    for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(length >> shift));
  }
  if (masked) bytes.append(4, '\0');
  return bytes + payload;
}

std::string upgrade(const std::string& token, const std::string& key = "dGhlIHNhbXBsZSBub25jZQ==") {
  return "GET /volunteer/socket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: keep-alive, "
         "Upgrade\r\n"
         "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " +
         key + "\r\nAuthorization: Bearer " + token + "\r\n\r\n";
}

std::string http_base(const std::string& socket_url) {
  return "http" + socket_url.substr(2, socket_url.find("/volunteer") - 2);
}

}  // namespace

TEST_CASE("only a machine's valid token opens a socket") {
  const DispatchStack stack;
  const auto machine = stack.lend({});
  CHECK(test::socket_status(stack.socket_url(), machine.token) == 101);
  CHECK(test::socket_status(stack.socket_url(), machine.token + "x") == 401);
  CHECK(test::socket_status(stack.socket_url(), stack.client().token) == 401);
  CHECK(test::socket_status(stack.socket_url(), "") == 401);
  stack.execute(
      "UPDATE login_token SET created_at = now() - interval '2 days', expires_at = now() - interval '1 "
      "day' "
      "WHERE machine_id IS NOT NULL");
  CHECK(test::socket_status(stack.socket_url(), machine.token) == 401);
}

TEST_CASE("a market accepts SOCKETS_MAX sockets and refuses one more") {
  const DispatchStack stack{{{"SOCKETS_MAX", "2"}}};
  const auto machine = stack.lend({});
  std::optional<Agent> one;
  one.emplace(stack.socket_url(), machine.token);
  const Agent two{stack.socket_url(), machine.token};
  CHECK(test::socket_status(stack.socket_url(), machine.token) == 503);
  one.reset();
  CHECK(test::eventually([&] { return test::socket_status(stack.socket_url(), machine.token) == 101; }));
}

TEST_CASE("what is not a request for a socket gets a problem document") {
  const DispatchStack stack;
  const auto answer = test::Http{http_base(stack.socket_url())}.get("/volunteer/socket");
  CHECK(answer.status == 400);
  CHECK(answer.code() == "malformed_request");
  const auto url = http_base(stack.socket_url());
  const auto status = [&](const std::string& request) {
    test::Raw raw{url};
    raw.send(request);
    return raw.read_to_end().substr(0, 12);
  };
  CHECK(status("POST / HTTP/1.1\r\n\r\n") == "HTTP/1.1 400");
  CHECK(status("GET / HTTP/1.0\r\n\r\n") == "HTTP/1.1 400");
  CHECK(status("garbage\r\n\r\n") == "HTTP/1.1 400");
  CHECK(status(upgrade("t", "short")) == "HTTP/1.1 400");
  CHECK(status("GET /elsewhere" + upgrade("t").substr(std::string{"GET /volunteer/socket"}.size())) ==
        "HTTP/1.1 404");
  CHECK(status(upgrade("t") + "early") == "HTTP/1.1 400");
  const std::string head = "GET /volunteer/socket HTTP/1.1\r\nX: ";
  CHECK(status(head + std::string(limits::kHandshakeBytesMax - head.size() - 4, 'x') + "\r\n\r\n") ==
        "HTTP/1.1 400");
  CHECK(status(head + std::string(limits::kHandshakeBytesMax - head.size() - 3, 'x') + "\r\n\r\n") ==
        "HTTP/1.1 413");
}

TEST_CASE("frames that break the rules close the connection, and the market lives") {
  const DispatchStack stack;
  const auto machine = stack.lend({});
  const auto closed_with = [&](const std::string& bytes) {
    test::Raw raw{http_base(stack.socket_url())};
    raw.send(upgrade(machine.token));
    raw.read_until("\r\n\r\n");
    raw.send(bytes);
    const auto answer = raw.read_to_end();
    REQUIRE(answer.size() >= 4);
    return static_cast<unsigned char>(answer[2]) << 8 | static_cast<unsigned char>(answer[3]);
  };
  // The lengths that end a process whose parser adds before it compares.
  CHECK(closed_with(frame(0x81, UINT64_MAX, "x", false)) == 1002);
  CHECK(closed_with(frame(0x81, UINT64_MAX, "x")) == 1009);
  CHECK(closed_with(frame(0x81, limits::kFrameBytesMax + 1, "x")) == 1009);
  CHECK(closed_with(frame(0x81, 2, "{}", false)) == 1002);
  CHECK(closed_with(frame(0x82, 2, "{}")) == 1003);
  CHECK(closed_with(frame(0xc1, 2, "{}")) == 1002);
  CHECK(closed_with(frame(0x83, 0, "")) == 1002);
  CHECK(closed_with(frame(0x80, 0, "")) == 1002);
  std::string endless = frame(0x01, 1000, std::string(1000, 'x'));
  for (int i = 0; i < 300; ++i) endless += frame(0x00, 1000, std::string(1000, 'x'));
  CHECK(closed_with(endless) == 1009);
  CHECK(test::Http{stack.market().url()}.get("/healthz").status == 200);
}

TEST_CASE("a machine that asks much and reads nothing is cut off, and so is one that says no hello") {
  const DispatchStack stack;
  const auto machine = stack.lend({});
  test::Raw silent{http_base(stack.socket_url())};
  silent.send(upgrade(machine.token));
  silent.read_until("\r\n\r\n");

  test::Raw deaf{http_base(stack.socket_url())};
  deaf.send(upgrade(machine.token));
  deaf.read_until("\r\n\r\n");
  std::string pings;
  for (int i = 0; i < 1000; ++i) pings += frame(0x89, 125, std::string(125, 'x'));
  // Each is answered with as much; the kernel's buffers take the first megabytes.
  std::size_t answered_bytes = 0;
  constexpr std::size_t kMost = 64 << 20;
  while (deaf.send(pings) && answered_bytes < kMost) answered_bytes += pings.size();
  CHECK(answered_bytes < kMost);

  CHECK_FALSE(silent.ends(std::chrono::seconds{limits::kHelloSecondsMax} - 5s));
  CHECK(silent.ends(15s));
  CHECK(test::Http{stack.market().url()}.get("/healthz").status == 200);
}

TEST_CASE("messages that break the protocol close the connection") {
  const DispatchStack stack;
  const auto machine = stack.lend({});
  const auto closed_with = [&](const std::string& text, bool with_hello = true) {
    Agent agent{stack.socket_url(), machine.token};
    if (with_hello) agent.send_hello();
    agent.say_raw(text);
    return agent.close_code();
  };
  CHECK(closed_with("not JSON") == 1002);
  CHECK(closed_with(R"({"type":"beat","seq":1})", false) == 1002);  // before hello
  CHECK(closed_with(R"({"type":"hello","seq":2,"protocols":[1]})") == 1002);
  CHECK(closed_with(R"({"type":"beat","seq":3})") == 1008);          // a number is missing
  CHECK(closed_with(R"({"type":"beat","seq":2,"ack":9})") == 1002);  // of what was never sent
  CHECK(closed_with(R"({"type":"beat","seq":2,"colour":"blue"})") == 1002);
  CHECK(closed_with(R"({"type":"hello","seq":1,"protocols":[2]})", false) == 4004);
}

TEST_CASE("64 messages may be unacknowledged, and one more closes the connection") {
  // Nobody acknowledges what waits for a database.
  const DispatchStack stack;
  const auto machine = stack.lend({});
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  const test::LockedTable locked{stack.market().database_url(), "job"};
  const auto say_outcome = [&] { agent.complete({{JobId::make(), 1}, "t"}); };
  for (std::size_t i = 0; i < limits::kUnackedMessagesMax; ++i) say_outcome();
  CHECK(!agent.hear_if<protocol::Stop>(300ms));
  say_outcome();
  CHECK(agent.close_code() == 1008);
}

TEST_CASE("a machine that never acknowledges is sent no more than the window, and closed after a lease") {
  const DispatchStack stack;
  const auto machine = stack.lend({.cpu_cores = 200, .ram_mb = 1 << 20, .disc_mb = 1 << 20});
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  for (int i = 0; i < 80; ++i) stack.submit({.price = 0});
  // It beats, but acknowledges nothing.
  int number = 1;
  for (const auto until = std::chrono::steady_clock::now() + 2 * DispatchStack::kLease;
       std::chrono::steady_clock::now() < until;) {
    agent.say_raw(R"({"type":"beat","seq":)" + std::to_string(++number) + "}");
    std::this_thread::sleep_for(200ms);
  }
  CHECK(agent.close_code() == 1008);
  stack.check();
}

TEST_CASE("a result that does not fit its owner's storage is a problem for that machine alone") {
  const DispatchStack stack;
  const auto machine = stack.lend({.cpu_cores = 2});
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  const auto poor = stack.newcomer();
  const auto fits = stack.submit({});
  const auto full = stack.submit({}, poor);
  stack.execute("UPDATE storage SET quota_bytes = used_bytes WHERE account_id = '" + poor.id + "'");
  const auto one = agent.take_job();
  const auto two = agent.take_job();
  const auto& bad = one.attempt.name.job.text() == full ? one : two;
  const auto& good = one.attempt.name.job.text() == full ? two : one;
  agent.complete(bad.attempt, 0, "much");
  agent.complete(good.attempt, 0, "little");
  const auto problem = agent.hear<protocol::Problem>();
  CHECK(problem.code == "quota_exceeded");
  CHECK(problem.attempt == bad.attempt.name);
  agent.await_acknowledged();
  CHECK(stack.state_of(fits) == "completed");
  CHECK(stack.state_of(full) == "running");
  agent.say(protocol::Outcome{.attempt = bad.attempt,
                              .kind = AttemptOutcome::failed,
                              .failure_code = FailureCode::quota_exceeded,
                              .failure_detail = "no room"});
  agent.await_acknowledged();
  CHECK(stack.state_of(full) == "failed");
  stack.check();
}
