#include "volunteer/agent/session.h"

#include "core/limits.h"
#include "core/websocket.h"
#include "volunteer/agent/stage.h"

namespace remotist::volunteer {

using namespace std::chrono_literals;

TEST_CASE(
    "a job that runs is kept through a lost connection, and named in the next hello and in every beat") {
  Stage stage;
  stage.connect();
  stage.begin(1);
  stage.session.closed(1006, "gone", stage.now);
  CHECK(stage.drops.empty());
  stage.pass(1s);
  CHECK(stage.dials == 2);
  stage.said.clear();
  stage.connect({Stage::name(1)});
  REQUIRE(stage.all<protocol::Hello>().size() == 1);
  REQUIRE(stage.all<protocol::Hello>()[0].attempts.size() == 1);
  stage.pass(10s);
  REQUIRE(!stage.all<protocol::Beat>().empty());
  REQUIRE(stage.all<protocol::Beat>()[0].attempts.size() == 1);
  CHECK(stage.all<protocol::Beat>()[0].attempts[0].cpu_ms == 1234);
}

TEST_CASE("an outcome that was not acknowledged is said again after a reconnect, once kept") {
  Stage stage;
  stage.connect();
  stage.begin(1);
  stage.end(1, {.ending = Ending::completed});
  stage.deliver_all(1);
  REQUIRE(stage.all<protocol::Outcome>().size() == 1);
  stage.session.closed(1006, "gone", stage.now);
  stage.pass(1s);
  stage.connect({Stage::name(1)});
  CHECK(stage.all<protocol::Outcome>().size() == 2);
  stage.acknowledge();
  CHECK(stage.jobs.count() == 0);
}

TEST_CASE("what ends while the market is away is told when it is back") {
  Stage stage;
  stage.connect();
  stage.begin(1);
  stage.session.closed(1001, "stops", stage.now);
  stage.end(1, {.ending = Ending::completed});
  stage.deliver_all(1);
  CHECK(stage.all<protocol::Outcome>().empty());
  stage.pass(1s);
  stage.connect({Stage::name(1)});
  CHECK(stage.all<protocol::Outcome>().size() == 1);
}

TEST_CASE("what the welcome does not keep is dropped") {
  Stage stage;
  stage.connect();
  stage.begin(1);
  stage.begin(2);
  stage.session.closed(1006, "gone", stage.now);
  stage.pass(1s);
  stage.connect({Stage::name(1)}, {Stage::name(2)});
  CHECK(stage.drops == std::vector{Stage::name(2)});
}

TEST_CASE("pauses between tries grow to half a minute, and a market that stops is tried again at once") {
  Stage stage;
  stage.session.wake(stage.now);
  for (int i = 0; i < 12; ++i) {
    stage.session.not_opened(0, "refused", stage.now);
    const auto pause = stage.session.due() - stage.now;
    CHECK(pause >= 250ms);
    CHECK(pause <= 30s);
    if (i == 11) CHECK(pause >= 15s);
    stage.now = stage.session.due();
    stage.session.wake(stage.now);
  }
  stage.session.opened(stage.now);
  stage.number = 0;
  stage.tell(protocol::Welcome{
      .session = SessionId::make(), .beat_ms = 10'000, .lease_ms = 30'000, .keep = {}, .stop = {}});
  stage.session.closed(1001, "stops", stage.now);
  CHECK(stage.session.due() - stage.now <= 100ms);
}

TEST_CASE("a market that says nothing for a lease is taken for dead") {
  Stage stage;
  stage.connect();
  const int before = stage.dials;
  stage.pass(31s);
  CHECK(stage.vanishings == 1);
  CHECK(stage.dials > before);
}

TEST_CASE("a token that is refused is replaced once; refused again, the machine is turned away") {
  Stage stage;
  stage.session.wake(stage.now);
  stage.session.not_opened(401, "no", stage.now);
  CHECK(stage.asked_for_token == 1);
  stage.session.new_token("fresh", 1h);
  stage.session.wake(stage.now);
  CHECK(stage.token == "fresh");
  stage.session.not_opened(401, "no", stage.now);
  CHECK(stage.session.over());
  CHECK(!stage.session.turned_away().empty());
}

TEST_CASE("no token while the market is away is tried again, without a valid log-in it is the end") {
  Stage stage;
  stage.session.wake(stage.now);
  stage.session.not_opened(401, "no", stage.now);
  stage.session.no_token("the market does not answer", false, stage.now);
  CHECK_FALSE(stage.session.over());
  stage.pass(1s);
  CHECK(stage.dials == 2);
  stage.session.not_opened(401, "no", stage.now);
  stage.session.no_token("log in again", true, stage.now);
  CHECK(stage.session.turned_away() == "log in again");
}

TEST_CASE("a token is renewed halfway, and kept") {
  Stage stage;
  stage.connect();
  for (int i = 0; i < 13 * 60 * 4 && stage.all<protocol::Renew>().empty(); ++i) {
    stage.pass(15s);
    stage.acknowledge();
  }
  REQUIRE(stage.all<protocol::Renew>().size() == 1);
  stage.tell(protocol::Token{"next", "2026-02-01T00:00:00.000Z"});
  CHECK(stage.kept_token == "next");
  CHECK(stage.session.token() == "next");
}

TEST_CASE("leaving hands back what runs, and is over once that is acknowledged") {
  Stage stage;
  stage.connect();
  stage.begin(1);
  stage.session.leave("bye", stage.now);
  REQUIRE(stage.all<protocol::Goodbye>().size() == 1);
  CHECK(stage.all<protocol::Goodbye>()[0].attempts.size() == 1);
  CHECK(stage.drops.size() == 1);
  CHECK_FALSE(stage.session.over());
  stage.acknowledge();
  CHECK(stage.session.over());
  CHECK(stage.session.turned_away().empty());
}

TEST_CASE("another agent of the same machine ends this one") {
  Stage stage;
  stage.connect();
  stage.session.closed(static_cast<int>(websocket::CloseCode::replaced), "", stage.now);
  CHECK(stage.session.over());
  CHECK(!stage.session.turned_away().empty());
}

TEST_CASE("results of the largest size fit, and wait for room one after the other") {
  Stage stage;
  stage.connect();
  for (int i = 1; i <= 4; ++i) stage.begin(i);
  for (int i = 1; i <= 4; ++i) {
    stage.end(i, {.ending = Ending::r_error, .message = std::string(limits::kFailureDetailBytesMax, '\x01')});
    stage.jobs.delivered(Stage::name(i), {},
                         {{"files", std::string(limits::kPathBytesMax, '"'),
                           std::string(limits::kOutcomeBytesMax - 6 * limits::kPathBytesMax, 'x')}},
                         stage.now);
  }
  stage.session.speak(stage.now);
  CHECK(stage.all<protocol::Outcome>().size() == 1);
  for (std::size_t i = 2; i <= 4; ++i) {
    stage.acknowledge();
    CHECK(stage.all<protocol::Outcome>().size() == i);
  }
}

TEST_CASE("progress of the longest encoding in a window that is almost full waits, and nobody is aborted") {
  const auto fill = [](Stage& stage, int which, std::size_t bytes) {
    stage.end(which, {.ending = Ending::completed});
    stage.jobs.delivered(Stage::name(which), {}, {{"output", "result.rds", std::string(bytes, 'x')}},
                         stage.now);
    stage.session.speak(stage.now);
  };
  constexpr std::size_t kFirst = 128'000;
  constexpr std::size_t kRest = limits::kUnackedBytesMax - kFirst * 4 / 3;
  for (const char c : {'\x01', '"', 'x'}) {
    // The room that two outcomes leave goes from little more than a message is reckoned with to plenty.
    for (std::size_t left = 3600; left < 10'000; left += 200) {
      Stage stage;
      stage.connect();
      for (int i = 1; i <= 3; ++i) stage.begin(i);
      stage.pass(1s);
      stage.acknowledge();
      fill(stage, 1, kFirst);
      fill(stage, 2, (kRest - left) * 3 / 4);
      stage.jobs.progressed(Stage::name(3), 0.5, std::string(limits::kMessageTextBytesMax, c));
      stage.pass(1s);
      stage.session.speak(stage.now);
      REQUIRE(stage.all<protocol::Outcome>().size() == 2);
      stage.acknowledge();
      stage.pass(1s);
      CHECK(stage.all<protocol::Progress>().size() == 1);
    }
  }
}

TEST_CASE("a message that turns out larger than the room waits, and nothing overtakes it") {
  // Tokens that take twice their length in JSON: an accept is reckoned with less.
  const std::string token(limits::kAttemptTokenBytesMax, '"');
  constexpr int kAttempts = 750;
  Stage stage{kAttempts};
  stage.connect();
  for (int i = 0; i < kAttempts; i += 250) {
    protocol::Assign assign;
    for (int j = 1; j <= 250; ++j) assign.jobs.push_back(Stage::assignment(i + j, token));
    stage.tell(std::move(assign));
  }
  std::vector<protocol::AttemptName> accepted;
  for (int i = 0; i < 20; ++i) {
    stage.acknowledge();
    stage.pass(1s);
  }
  for (const auto& accept : stage.all<protocol::Accept>()) {
    for (const auto& key : accept.attempts) accepted.push_back(key.name);
  }
  REQUIRE(accepted.size() == kAttempts);
  for (int i = 0; i < kAttempts; ++i) CHECK(accepted[static_cast<std::size_t>(i)] == Stage::name(i + 1));
}

}  // namespace remotist::volunteer
