#include "volunteer/agent/machine_session.h"

#include "core/limits.h"
#include "core/websocket.h"
#include "volunteer/agent/agent_fixture.h"

namespace remotist::volunteer {

using namespace std::chrono_literals;

TEST_CASE("a running job survives a lost connection, and is named in the next hello and in every beat") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.session.on_closed(1006, "gone", agent.now);
  CHECK(agent.drops.empty());
  agent.pass(1s);
  CHECK(agent.connects == 2);
  agent.sent.clear();
  agent.connect_session({AgentFixture::name(1)});
  REQUIRE(agent.all<protocol::Hello>().size() == 1);
  REQUIRE(agent.all<protocol::Hello>()[0].attempts.size() == 1);
  agent.pass(10s);
  REQUIRE(!agent.all<protocol::Beat>().empty());
  REQUIRE(agent.all<protocol::Beat>()[0].attempts.size() == 1);
  CHECK(agent.all<protocol::Beat>()[0].attempts[0].cpu_ms == 1234);
}

TEST_CASE("an outcome that was not acknowledged is sent again after a reconnect that keeps its attempt") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.end(1, {.ending = Ending::completed});
  agent.deliver_all(1);
  REQUIRE(agent.all<protocol::Outcome>().size() == 1);
  agent.session.on_closed(1006, "gone", agent.now);
  agent.pass(1s);
  agent.connect_session({AgentFixture::name(1)});
  CHECK(agent.all<protocol::Outcome>().size() == 2);
  agent.acknowledge();
  CHECK(agent.attempts.count() == 0);
}

TEST_CASE("a job that ends while the market is unreachable is reported after the reconnect") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.session.on_closed(1001, "stops", agent.now);
  agent.end(1, {.ending = Ending::completed});
  agent.deliver_all(1);
  CHECK(agent.all<protocol::Outcome>().empty());
  agent.pass(1s);
  agent.connect_session({AgentFixture::name(1)});
  CHECK(agent.all<protocol::Outcome>().size() == 1);
}

TEST_CASE("an attempt that the welcome does not keep is dropped") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.begin(2);
  agent.session.on_closed(1006, "gone", agent.now);
  agent.pass(1s);
  agent.connect_session({AgentFixture::name(1)}, {AgentFixture::name(2)});
  CHECK(agent.drops == std::vector{AgentFixture::name(2)});
}

TEST_CASE("the delay before a reconnect doubles to half a minute, and a welcome resets it") {
  AgentFixture agent;
  agent.session.wake(agent.now);
  for (const auto most : {500ms, 1000ms, 2000ms, 4000ms, 8000ms, 16'000ms, 30'000ms, 30'000ms}) {
    agent.session.on_connect_failed(503, "full", agent.now);
    CHECK(agent.session.due() >= agent.now + most / 2);
    CHECK(agent.session.due() <= agent.now + most);
    agent.now = agent.session.due();
    agent.session.wake(agent.now);
  }
  agent.connect_session();
  agent.session.on_closed(0, "gone", agent.now);
  CHECK(agent.session.due() >= agent.now + 250ms);
  CHECK(agent.session.due() <= agent.now + 500ms);
}

TEST_CASE("the delay before a reconnect is short when the market announced its stop") {
  AgentFixture agent;
  agent.connect_session();
  agent.session.on_closed(1001, "stops", agent.now);
  CHECK(agent.session.due() <= agent.now + 100ms);
}

TEST_CASE("a market that sends nothing for a lease is disconnected") {
  AgentFixture agent;
  agent.connect_session();
  const int before = agent.connects;
  agent.pass(31s);
  CHECK(agent.aborts == 1);
  CHECK(agent.connects > before);
}

TEST_CASE("a token that is refused is replaced once; refused again, the machine is rejected") {
  AgentFixture agent;
  agent.session.wake(agent.now);
  agent.session.on_connect_failed(401, "no", agent.now);
  CHECK(agent.token_requests == 1);
  agent.session.on_new_token("fresh", 1h);
  agent.session.wake(agent.now);
  CHECK(agent.token == "fresh");
  agent.session.on_connect_failed(401, "no", agent.now);
  CHECK(agent.session.ended());
  CHECK(!agent.session.rejection().empty());
}

TEST_CASE(
    "a token request is repeated while the market is unreachable, and ends the session without a valid "
    "login") {
  AgentFixture agent;
  agent.session.wake(agent.now);
  agent.session.on_connect_failed(401, "no", agent.now);
  agent.session.on_token_failed("the market does not answer", false, agent.now);
  CHECK_FALSE(agent.session.ended());
  agent.pass(1s);
  CHECK(agent.connects == 2);
  agent.session.on_connect_failed(401, "no", agent.now);
  agent.session.on_token_failed("log in again", true, agent.now);
  CHECK(agent.session.rejection() == "log in again");
}

TEST_CASE("a token is renewed after half of its life, and stored") {
  AgentFixture agent;
  agent.connect_session();
  for (int i = 0; i < 13 * 60 * 4 && agent.all<protocol::Renew>().empty(); ++i) {
    agent.pass(15s);
    agent.acknowledge();
  }
  REQUIRE(agent.all<protocol::Renew>().size() == 1);
  agent.receive(protocol::Token{"next", "2026-02-01T00:00:00.000Z"});
  CHECK(agent.stored_token == "next");
  CHECK(agent.session.token() == "next");
}

TEST_CASE("leaving hands back running attempts, and ends the session when that is acknowledged") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.session.leave("bye", agent.now);
  REQUIRE(agent.all<protocol::Goodbye>().size() == 1);
  CHECK(agent.all<protocol::Goodbye>()[0].attempts.size() == 1);
  CHECK(agent.drops.size() == 1);
  CHECK_FALSE(agent.session.ended());
  agent.acknowledge();
  CHECK(agent.session.ended());
  CHECK(agent.session.rejection().empty());
}

TEST_CASE("another agent of the same machine ends this one") {
  AgentFixture agent;
  agent.connect_session();
  agent.session.on_closed(static_cast<int>(websocket::CloseCode::replaced), "", agent.now);
  CHECK(agent.session.ended());
  CHECK(!agent.session.rejection().empty());
}

TEST_CASE("outcomes of the largest size fit into the window one after the other") {
  AgentFixture agent;
  agent.connect_session();
  for (int i = 1; i <= 4; ++i) agent.begin(i);
  for (int i = 1; i <= 4; ++i) {
    agent.end(i, {.ending = Ending::r_error, .message = std::string(limits::kFailureDetailBytesMax, '\x01')});
    agent.attempts.on_delivered(AgentFixture::name(i), {},
                                {{"files", std::string(limits::kPathBytesMax, '"'),
                                  std::string(limits::kOutcomeBytesMax - 6 * limits::kPathBytesMax, 'x')}},
                                agent.now);
  }
  agent.session.send_pending(agent.now);
  CHECK(agent.all<protocol::Outcome>().size() == 1);
  for (std::size_t i = 2; i <= 4; ++i) {
    agent.acknowledge();
    CHECK(agent.all<protocol::Outcome>().size() == i);
  }
}

TEST_CASE("progress of the longest encoding waits while the window is almost full") {
  const auto fill = [](AgentFixture& agent, int which, std::size_t bytes) {
    agent.end(which, {.ending = Ending::completed});
    agent.attempts.on_delivered(AgentFixture::name(which), {},
                                {{"output", "result.rds", std::string(bytes, 'x')}}, agent.now);
    agent.session.send_pending(agent.now);
  };
  constexpr std::size_t kFirst = 128'000;
  constexpr std::size_t kRest = limits::kUnackedBytesMax - kFirst * 4 / 3;
  for (const char c : {'\x01', '"', 'x'}) {
    // The room that two outcomes leave goes from little more than a message is reckoned with to plenty.
    for (std::size_t left = 3600; left < 10'000; left += 200) {
      AgentFixture agent;
      agent.connect_session();
      for (int i = 1; i <= 3; ++i) agent.begin(i);
      agent.pass(1s);
      agent.acknowledge();
      fill(agent, 1, kFirst);
      fill(agent, 2, (kRest - left) * 3 / 4);
      agent.attempts.on_progress(AgentFixture::name(3), 0.5, std::string(limits::kMessageTextBytesMax, c));
      agent.pass(1s);
      agent.session.send_pending(agent.now);
      REQUIRE(agent.all<protocol::Outcome>().size() == 2);
      agent.acknowledge();
      agent.pass(1s);
      CHECK(agent.all<protocol::Progress>().size() == 1);
    }
  }
}

TEST_CASE("a message that is larger than the room is deferred, and no other overtakes it") {
  // Tokens that take twice their length in JSON: an accept is reckoned with less.
  const std::string token(limits::kAttemptTokenBytesMax, '"');
  constexpr int kAttempts = 750;
  AgentFixture agent{kAttempts};
  agent.connect_session();
  for (int i = 0; i < kAttempts; i += 250) {
    protocol::Assign assign;
    for (int j = 1; j <= 250; ++j) assign.jobs.push_back(AgentFixture::assignment(i + j, token));
    agent.receive(std::move(assign));
  }
  std::vector<protocol::AttemptName> accepted;
  for (int i = 0; i < 20; ++i) {
    agent.acknowledge();
    agent.pass(1s);
  }
  for (const auto& accept : agent.all<protocol::Accept>()) {
    for (const auto& key : accept.attempts) accepted.push_back(key.name);
  }
  REQUIRE(accepted.size() == kAttempts);
  for (int i = 0; i < kAttempts; ++i)
    CHECK(accepted[static_cast<std::size_t>(i)] == AgentFixture::name(i + 1));
}

TEST_CASE("an observer sees the messages of both sides, and what of each the market has accepted") {
  struct Seen final : SessionObserver {
    void on_received(const Result<protocol::Frame<protocol::FromMarket>>& message, std::size_t) override {
      ++(message ? received : refused);
    }
    void on_sent(const protocol::Frame<protocol::FromAgent>& message) override {
      sent.push_back(message.number);
    }
    void on_acknowledged(const SentMessage& message) override { acknowledged.push_back(message); }
    int received = 0, refused = 0;
    std::vector<std::int64_t> sent;
    std::vector<SentMessage> acknowledged;
  };
  AgentFixture agent;
  Seen seen;
  agent.session.observe(seen);
  agent.connect_session();  // the hello is 1; the welcome is acknowledged by itself
  agent.receive(protocol::Assign{{AgentFixture::assignment(1), AgentFixture::assignment(2)}});
  CHECK(seen.sent == std::vector<std::int64_t>{1, 0, 2});
  agent.receive(
      protocol::Problem{.re = 2, .code = "stale_attempt", .detail = "", .attempt = AgentFixture::name(1)}, 2);
  CHECK(seen.received == 3);
  REQUIRE(seen.acknowledged.size() == 2);
  CHECK(seen.acknowledged[0].kind == SentMessage::Kind::hello);
  CHECK(seen.acknowledged[1].kind == SentMessage::Kind::accept);
  CHECK(seen.acknowledged[1].attempts == std::vector{AgentFixture::name(2)});
  agent.session.on_message("{}", agent.now);
  CHECK(seen.refused == 1);
}

}  // namespace remotist::volunteer
