#include "volunteer/agent/watched_records.h"

#include <doctest/doctest.h>

#include "core/limits.h"
#include "volunteer/agent/agent_fixture.h"

namespace remotist::volunteer {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kRoom = 200 << 10;
const Time kNow = Time{} + 1h;
constexpr auto kRecordsMax = static_cast<std::int64_t>(WatchedRecordQueue::kRecordsMax);
constexpr auto kRecordsInMessageMax = static_cast<std::int64_t>(limits::kRecordsInMessageMax);

GuestRecord value(std::size_t variable, std::int64_t number, std::string bytes = "v") {
  return {.variable = variable,
          .at_us = number * 1000,
          .record = {.number = number, .changes = 1, .bytes = std::move(bytes)}};
}

GuestRecord large(std::size_t variable, std::int64_t number, std::string file) {
  auto made = value(variable, number, "");
  made.file = std::move(file);
  return made;
}

std::vector<std::int64_t> numbers_of(const std::vector<WatchedRecord>& records) {
  std::vector<std::int64_t> numbers;
  for (const auto& record : records) numbers.push_back(record.number);
  return numbers;
}

// Takes and acknowledges all records.
std::vector<WatchedRecord> drained(WatchedRecordQueue& queue) {
  std::vector<WatchedRecord> all;
  for (auto records = queue.take(kRoom, kNow); !records.empty(); records = queue.take(kRoom, kNow)) {
    all.insert(all.end(), records.begin(), records.end());
    queue.acknowledged();
  }
  return all;
}

}  // namespace

TEST_CASE("up to the limit every record is kept in order, and one more is merged into the newest") {
  WatchedRecordQueue queue{{"x"}};
  for (std::int64_t i = 1; i <= kRecordsMax; ++i) CHECK(queue.add(value(0, i), kNow).empty());
  CHECK(queue.records() == WatchedRecordQueue::kRecordsMax);
  CHECK(queue.bytes() <= WatchedRecordQueue::kBytesMax);
  CHECK(queue.add(value(0, WatchedRecordQueue::kRecordsMax + 1, "last"), kNow).empty());
  CHECK(queue.records() == WatchedRecordQueue::kRecordsMax);
  const auto all = drained(queue);
  REQUIRE(all.size() == WatchedRecordQueue::kRecordsMax);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    REQUIRE(all[i].number == static_cast<std::int64_t>(i) + 1);
    REQUIRE(all[i].changes == 1);
  }
  CHECK(all.back().number == WatchedRecordQueue::kRecordsMax + 1);
  CHECK(all.back().changes == 2);
  CHECK(all.back().bytes == "last");
  CHECK(queue.empty());
  CHECK(queue.bytes() == 0);
}

TEST_CASE("beyond the limit on bytes each variable keeps its newest value") {
  WatchedRecordQueue queue{{"x", "y"}};
  const std::string bytes(limits::kRecordInlineBytesMax, 'b');
  constexpr std::size_t kEach = limits::kRecordInlineBytesMax + WatchedRecordQueue::kRecordBytes;
  std::int64_t number = 0;
  while (queue.bytes() + kEach <= WatchedRecordQueue::kBytesMax)
    CHECK(queue.add(value(0, ++number, bytes), kNow).empty());
  const auto exact = queue.records();
  CHECK(exact == WatchedRecordQueue::kBytesMax / kEach);
  for (int i = 0; i < 100; ++i) CHECK(queue.add(value(0, ++number, bytes), kNow).empty());
  CHECK(queue.records() == exact);
  // Another variable is not shut out.
  CHECK(queue.add(value(1, 1, bytes), kNow).empty());
  CHECK(queue.add(value(1, 2, bytes), kNow).empty());
  CHECK(queue.records() == exact + 1);
  CHECK(queue.bytes() <= WatchedRecordQueue::kBytesMax + kEach);
  std::int64_t changes = 0;
  for (const auto& record : drained(queue)) changes += record.variable == "x" ? record.changes : 0;
  CHECK(changes == static_cast<std::int64_t>(number));
}

TEST_CASE("a record that was sent once is sent again unchanged, however many have come since") {
  WatchedRecordQueue queue{{"x"}};
  for (std::int64_t i = 1; i <= 10; ++i) CHECK(queue.add(value(0, i), kNow).empty());
  const auto sent = numbers_of(queue.take(kRoom, kNow));
  CHECK(sent.size() == 10);
  CHECK(queue.take(kRoom, kNow).empty());  // one message at a time
  queue.connection_lost();
  for (std::int64_t i = 11; i <= 2 * kRecordsMax; ++i) CHECK(queue.add(value(0, i), kNow).empty());
  const auto again = drained(queue);
  CHECK(numbers_of({again.begin(), again.begin() + 10}) == sent);
  for (std::size_t i = 0; i < 10; ++i) CHECK(again[i].changes == 1);
  std::int64_t changes = 0;
  for (const auto& record : again) changes += record.changes;
  CHECK(changes == 2 * static_cast<std::int64_t>(WatchedRecordQueue::kRecordsMax));
}

TEST_CASE("a message has as many records as fit, and the variables take turns") {
  WatchedRecordQueue queue{{"x", "y"}};
  for (std::int64_t i = 1; i <= 2 * kRecordsInMessageMax; ++i) CHECK(queue.add(value(0, i), kNow).empty());
  CHECK(queue.add(value(1, 1), kNow).empty());
  CHECK(queue.take(100, kNow).empty());
  CHECK(queue.take(kRoom, kNow).size() == limits::kRecordsInMessageMax);
  queue.acknowledged();
  const auto second = queue.take(kRoom, kNow);
  CHECK(second.front().variable == "y");
  CHECK(second.size() == limits::kRecordsInMessageMax);
}

TEST_CASE(
    "records are sent again later when the market is busy, and rejected ones are counted in the next "
    "record") {
  WatchedRecordQueue queue{{"x"}};
  CHECK(queue.add(value(0, 1), kNow).empty());
  CHECK(queue.take(kRoom, kNow).size() == 1);
  queue.retry_all(kNow + 1s);
  CHECK(queue.due() == kNow + 1s);
  CHECK(queue.take(kRoom, kNow).empty());
  queue.wake(kNow + 1s);
  CHECK(queue.due() == Time::max());
  CHECK(queue.take(kRoom, kNow + 1s).size() == 1);
  queue.rejected();
  CHECK(queue.empty());
  CHECK(queue.add(value(0, 2), kNow).empty());
  CHECK(queue.add(value(0, 3), kNow).empty());
  auto records = queue.take(kRoom, kNow + 2s);
  REQUIRE(records.size() == 2);
  CHECK(records[0].changes == 2);
  CHECK(queue.add(value(0, 4), kNow).empty());
  queue.rejected();
  records = queue.take(kRoom, kNow + 3s);
  REQUIRE(records.size() == 1);
  CHECK(records[0].changes == 4);
}

TEST_CASE("the sum of changes is unknown when one of them is") {
  WatchedRecordQueue queue{{"x"}};
  auto unknown = large(0, 1, "one");
  unknown.record.changes = 0;
  CHECK(queue.add(unknown, kNow).empty());
  CHECK(queue.add(value(0, 2), kNow) == "one");
  CHECK(queue.take(kRoom, kNow).front().changes == 0);
}

TEST_CASE("a large value that waits is replaced by a newer one, and one that is being uploaded is not") {
  WatchedRecordQueue queue{{"x", "y", "z"}};
  CHECK(queue.add(large(0, 1, "one"), kNow).empty());
  const auto first = queue.next_upload(kNow);
  REQUIRE(first);
  CHECK(first->file == "one");
  CHECK(queue.add(large(0, 2, "two"), kNow).empty());
  CHECK(queue.add(large(0, 3, "three"), kNow) == "two");
  CHECK(queue.records() == 2);
  CHECK_FALSE(queue.next_upload(kNow));  // the one before it first
  CHECK(queue.take(kRoom, kNow).empty());
  // So many at once.
  CHECK(queue.add(large(1, 1, "y"), kNow).empty());
  CHECK(queue.add(large(2, 1, "z"), kNow).empty());
  REQUIRE(queue.next_upload(kNow));
  CHECK_FALSE(queue.next_upload(kNow));
  queue.uploaded(*first, {std::string(64, 'a')}, 100'000);
  const auto records = queue.take(kRoom, kNow);
  REQUIRE(records.size() == 1);
  CHECK(records[0].chunks.size() == 1);
  CHECK(records[0].size == 100'000);
  CHECK(queue.next_upload(kNow)->file == "z");
  queue.acknowledged();
  queue.upload_failed({1, 1, "y"}, "no room");
  CHECK(queue.take(kRoom, kNow).front().words == "no room");
  const auto third = queue.next_upload(kNow);
  REQUIRE(third);
  CHECK(third->file == "three");
  queue.acknowledged();
  queue.retry_upload(*third, kNow + 1s);
  CHECK(queue.due() == kNow + 1s);
  CHECK_FALSE(queue.next_upload(kNow));
  queue.wake(kNow + 1s);
  CHECK(queue.next_upload(kNow + 1s)->file == "three");
  queue.uploaded(*third, {std::string(64, 'b')}, 5);
  CHECK(queue.take(kRoom, kNow).front().changes == 2);
}

TEST_CASE("ages count from the run's beginning, estimated from the record with the least delay") {
  WatchedRecordQueue queue{{"x"}};
  auto slow = value(0, 1);
  slow.at_us = 1'000'000;
  CHECK(queue.add(slow, kNow + 1500ms).empty());
  auto quick = value(0, 2);
  quick.at_us = 2'000'000;
  CHECK(queue.add(quick, kNow + 2000ms).empty());
  auto slow_again = value(0, 3);
  slow_again.at_us = 2'500'000;
  CHECK(queue.add(slow_again, kNow + 2900ms).empty());
  const auto records = queue.take(kRoom, kNow + 3000ms);
  REQUIRE(records.size() == 3);
  CHECK(records[1].age_ms == 1000);
  CHECK(records[2].age_ms == 500);
}

TEST_CASE("unreadable texts and unknown variables from a guest break nothing") {
  WatchedRecordQueue queue{{"x"}};
  CHECK(queue.add(large(1, 1, "stray"), kNow) == "stray");
  CHECK(queue.add(value(0, 0), kNow).empty());
  CHECK(queue.add(value(0, -1), kNow).empty());
  CHECK(queue.empty());
  GuestRecord problem{.at_us = -1,
                      .record = {.number = INT64_MAX,
                                 .changes = INT64_MAX,
                                 .kind = WatchedKind::problem,
                                 .words = std::string(5000, '\xff')}};
  CHECK(queue.add(problem, kNow).empty());
  problem.record.number = 2;
  problem.record.words = std::string(3, '\0');
  CHECK(queue.add(problem, kNow).empty());
  CHECK(queue.add(value(0, 3, std::string(limits::kRecordInlineBytesMax + 1, 'b')), kNow).empty());
  // The fixture requires that a market can read every message.
  AgentFixture agent;
  agent.send(text_of(protocol::Frame<protocol::FromAgent>{
      1, 0, protocol::WatchedRecords{{AgentFixture::name(1), "token"}, queue.take(kRoom, kNow)}}));
}

TEST_CASE("an attempt's records are sent as they come, and its outcome only after they are acknowledged") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.attempts.on_watched_record(AgentFixture::name(1), value(0, 1), agent.now);
  agent.session.send_pending(agent.now);
  REQUIRE(agent.all<protocol::WatchedRecords>().size() == 1);
  CHECK(agent.all<protocol::WatchedRecords>()[0].records[0].variable == "x");
  agent.attempts.on_watched_record(AgentFixture::name(1), value(1, 1), agent.now);
  agent.attempts.on_watched_record(AgentFixture::name(1), value(1, 2, "last"), agent.now);
  agent.end(1, {.ending = Ending::completed});
  CHECK(agent.deliveries.empty());
  agent.acknowledge();
  REQUIRE(agent.all<protocol::WatchedRecords>().size() == 2);
  CHECK(agent.all<protocol::WatchedRecords>()[1].records.size() == 2);
  CHECK(agent.deliveries.empty());
  agent.pass(5s);
  REQUIRE(!agent.all<protocol::Beat>().empty());
  agent.acknowledge();
  REQUIRE(agent.deliveries.size() == 1);
  agent.deliver_all(1);
  CHECK(agent.all<protocol::Outcome>().size() == 1);
}

TEST_CASE("records that were not acknowledged are sent again after a reconnect, before newer ones") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  for (std::int64_t i = 1; i <= 3; ++i)
    agent.attempts.on_watched_record(AgentFixture::name(1), value(0, i), agent.now);
  agent.session.send_pending(agent.now);
  agent.session.on_closed(1006, "gone", agent.now);
  for (std::int64_t i = 4; i <= 2000; ++i)
    agent.attempts.on_watched_record(AgentFixture::name(1), value(0, i), agent.now);
  agent.end(1, {.ending = Ending::completed});
  agent.pass(1s);
  agent.sent.clear();
  agent.connect_session({AgentFixture::name(1)});
  for (int i = 0; i < 10; ++i) agent.acknowledge();
  std::vector<WatchedRecord> all;
  for (const auto& message : agent.all<protocol::WatchedRecords>())
    all.insert(all.end(), message.records.begin(), message.records.end());
  REQUIRE(all.size() == 2000);
  for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(all[i].number == static_cast<std::int64_t>(i) + 1);
  CHECK(agent.deliveries.size() == 1);
}

TEST_CASE("records beyond the rate limit are sent again, and those beyond the quota are dropped") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.attempts.on_watched_record(AgentFixture::name(1), value(0, 1), agent.now);
  agent.session.send_pending(agent.now);
  agent.receive(protocol::Problem{agent.last, "rate_limited", "", AgentFixture::name(1)}, agent.last);
  CHECK(agent.all<protocol::WatchedRecords>().size() == 1);
  agent.pass(1s);
  REQUIRE(agent.all<protocol::WatchedRecords>().size() == 2);
  agent.receive(protocol::Problem{agent.last, "quota_exceeded", "", AgentFixture::name(1)}, agent.last);
  agent.end(1, {.ending = Ending::completed});
  CHECK(agent.deliveries.size() == 1);
}

TEST_CASE("a large value is uploaded, with retries, before its record; a stopped job sends no records") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.attempts.on_watched_record(AgentFixture::name(1), large(0, 1, "one"), agent.now);
  agent.session.send_pending(agent.now);
  REQUIRE(agent.uploads.size() == 1);
  CHECK(agent.all<protocol::WatchedRecords>().empty());
  agent.attempts.on_uploaded(AgentFixture::name(1), agent.uploads[0], {"no_answer", "away"}, {}, 0,
                             agent.now);
  agent.pass(2s);
  REQUIRE(agent.uploads.size() == 2);
  agent.attempts.on_watched_record(AgentFixture::name(1), large(0, 2, "two"), agent.now);
  agent.attempts.on_watched_record(AgentFixture::name(1), large(0, 3, "three"), agent.now);
  CHECK(agent.discards == std::vector<std::string>{"two"});
  agent.attempts.on_uploaded(AgentFixture::name(1), agent.uploads[1], {}, {std::string(64, 'a')}, 70'000,
                             agent.now);
  agent.session.send_pending(agent.now);
  REQUIRE(agent.all<protocol::WatchedRecords>().size() == 1);
  CHECK(agent.all<protocol::WatchedRecords>()[0].records[0].size == 70'000);
  agent.acknowledge();
  agent.pass(1s);
  CHECK(agent.uploads.size() == 3);
  agent.attempts.on_uploaded(AgentFixture::name(1), agent.uploads[2], {"quota_exceeded", "full"}, {}, 0,
                             agent.now);
  CHECK(agent.discards.back() == "three");
  agent.receive(protocol::Stop{{AgentFixture::name(1)}, "cancelled"});
  CHECK(agent.all<protocol::WatchedRecords>().size() == 1);
  CHECK(agent.attempts.count() == 0);
}

TEST_CASE("records leave room for an outcome of the largest size") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  agent.begin(2);
  const std::string bytes(limits::kRecordInlineBytesMax, 'b');
  agent.end(1, {.ending = Ending::completed});
  for (std::int64_t i = 1; i <= 8; ++i)
    agent.attempts.on_watched_record(AgentFixture::name(2), value(0, i, bytes), agent.now);
  agent.session.send_pending(agent.now);
  agent.attempts.on_delivered(AgentFixture::name(1), {},
                              {{"output", "result.rds", std::string(limits::kOutcomeBytesMax - 100, 'x')}},
                              agent.now);
  agent.session.send_pending(agent.now);
  CHECK(agent.all<protocol::Outcome>().empty());
  CHECK(agent.all<protocol::WatchedRecords>().size() == 1);
  agent.acknowledge();
  CHECK(agent.all<protocol::Outcome>().size() == 1);
}

TEST_CASE("absurd counts of changes add up to the market's limit, and no further") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  for (std::int64_t i = 1; i <= 40; ++i) {
    // A large value that nobody has uploaded gives way to the next one, which stands for both.
    auto lie = large(0, i, "file");
    lie.record.changes = (std::int64_t{1} << 53) - 1;
    agent.attempts.on_watched_record(AgentFixture::name(1), lie, agent.now);
  }
  for (std::size_t i = 0; i < agent.uploads.size(); ++i)
    agent.attempts.on_uploaded(AgentFixture::name(1), agent.uploads[i], {}, {std::string(64, 'a')}, 70'000,
                               agent.now);
  for (int i = 0; i < 4; ++i) {
    agent.session.send_pending(agent.now);
    agent.acknowledge();
    for (std::size_t j = 0; j < agent.uploads.size(); ++j)
      agent.attempts.on_uploaded(AgentFixture::name(1), agent.uploads[j], {}, {std::string(64, 'a')}, 70'000,
                                 agent.now);
  }
  const auto sent = agent.all<protocol::WatchedRecords>();
  REQUIRE(sent.size() == 2);
  CHECK(sent[1].records[0].number == 40);
  CHECK(sent[1].records[0].changes == limits::kRecordCountMax);
}

TEST_CASE("an absurd time of a change becomes an age that the market accepts") {
  AgentFixture agent;
  agent.connect_session();
  agent.begin(1);
  auto lie = value(0, 1);
  lie.at_us = (std::int64_t{1} << 53) - 1;
  agent.attempts.on_watched_record(AgentFixture::name(1), lie, agent.now);
  lie = value(0, 2);
  lie.at_us = 0;
  agent.attempts.on_watched_record(AgentFixture::name(1), lie, agent.now);
  lie = value(0, 3);
  lie.at_us = -5;
  agent.attempts.on_watched_record(AgentFixture::name(1), lie, agent.now);
  agent.session.send_pending(agent.now);
  REQUIRE(agent.all<protocol::WatchedRecords>().size() == 1);
  CHECK(agent.all<protocol::WatchedRecords>()[0].records[1].age_ms == limits::kRecordAgeMsMax);
}

TEST_CASE("a record is settled when it is acknowledged, and then the market has its value") {
  WatchedRecordQueue queue{{"x", "y"}};
  for (std::int64_t i = 1; i <= 3; ++i) CHECK(queue.add(value(0, i), kNow).empty());
  CHECK(queue.is_settled(0, 0));
  CHECK_FALSE(queue.is_settled(0, 1));
  CHECK(queue.is_settled(1, 5));
  REQUIRE(queue.take(kRoom, kNow).size() == 3);
  CHECK_FALSE(queue.is_settled(0, 3));
  CHECK(queue.add(value(0, 4), kNow).empty());
  queue.acknowledged();
  CHECK(queue.is_settled(0, 3));
  CHECK(queue.is_recorded(0, 3));
  CHECK_FALSE(queue.is_settled(0, 4));
}

TEST_CASE("the market does not have the value of a record that was replaced, rejected or not uploaded") {
  WatchedRecordQueue queue{{"x"}};
  CHECK(queue.add(large(0, 1, "one"), kNow).empty());
  CHECK(queue.add(large(0, 2, "two"), kNow) == "one");
  const auto upload = queue.next_upload(kNow);
  REQUIRE(upload);
  queue.upload_failed(*upload, "no");
  CHECK(drained(queue).size() == 1);
  CHECK(queue.add(value(0, 3), kNow).empty());
  REQUIRE(queue.take(kRoom, kNow).size() == 1);
  queue.rejected();
  CHECK(queue.add(value(0, 4), kNow).empty());
  drained(queue);
  for (const std::int64_t missing : {1, 2, 3}) {
    CHECK(queue.is_settled(0, missing));
    CHECK_FALSE(queue.is_recorded(0, missing));
  }
  CHECK(queue.is_recorded(0, 4));
}

TEST_CASE("of more gaps than are remembered, everything before the newest counts as missing") {
  constexpr auto kGaps = static_cast<std::int64_t>(WatchedRecordQueue::kGapsMax);
  for (const auto gaps : {kGaps, kGaps + 1}) {
    CAPTURE(gaps);
    WatchedRecordQueue queue{{"x"}};
    for (std::int64_t gap = 1; gap <= gaps; ++gap) {
      CHECK(queue.add(value(0, 2 * gap), kNow).empty());
      REQUIRE(queue.take(kRoom, kNow).size() == 1);
      queue.rejected();
      CHECK(queue.add(value(0, 2 * gap + 1), kNow).empty());
      drained(queue);
    }
    CHECK(queue.is_recorded(0, 3) == (gaps == kGaps));
    CHECK_FALSE(queue.is_recorded(0, 2));
    CHECK_FALSE(queue.is_recorded(0, 2 * gaps));
    CHECK(queue.is_recorded(0, 2 * gaps + 1));
  }
}

}  // namespace remotist::volunteer
