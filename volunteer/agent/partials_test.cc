#include "volunteer/agent/partials.h"

#include <doctest/doctest.h>

#include "core/limits.h"
#include "volunteer/agent/stage.h"

namespace remotist::volunteer {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kRoom = 200 << 10;
const Time kNow = Time{} + 1h;

PartialValue value(std::size_t variable, std::uint64_t number, std::string bytes = "v") {
  return {.variable = variable,
          .number = number,
          .changes = 1,
          .at_us = static_cast<std::int64_t>(number) * 1000,
          .kind = PartialValue::Kind::value,
          .bytes = std::move(bytes)};
}

PartialValue large(std::size_t variable, std::uint64_t number, std::string file) {
  auto made = value(variable, number, "");
  made.file = std::move(file);
  return made;
}

std::vector<std::int64_t> numbers_of(const std::vector<PartialRecord>& records) {
  std::vector<std::int64_t> numbers;
  for (const auto& record : records) numbers.push_back(record.number);
  return numbers;
}

// Says and acknowledges all that there is.
std::vector<PartialRecord> drained(Partials& partials) {
  std::vector<PartialRecord> all;
  for (auto records = partials.take(kRoom, kNow); !records.empty(); records = partials.take(kRoom, kNow)) {
    all.insert(all.end(), records.begin(), records.end());
    partials.acknowledged();
  }
  return all;
}

}  // namespace

TEST_CASE(
    "records are kept exactly and in order up to the limit, and with one more the newest stands for both") {
  Partials partials{{"x"}};
  for (std::uint64_t i = 1; i <= Partials::kRecordsMax; ++i) CHECK(partials.add(value(0, i), kNow).empty());
  CHECK(partials.records() == Partials::kRecordsMax);
  CHECK(partials.bytes() <= Partials::kBytesMax);
  CHECK(partials.add(value(0, Partials::kRecordsMax + 1, "last"), kNow).empty());
  CHECK(partials.records() == Partials::kRecordsMax);
  const auto all = drained(partials);
  REQUIRE(all.size() == Partials::kRecordsMax);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    REQUIRE(all[i].number == static_cast<std::int64_t>(i) + 1);
    REQUIRE(all[i].changes == 1);
  }
  CHECK(all.back().number == Partials::kRecordsMax + 1);
  CHECK(all.back().changes == 2);
  CHECK(all.back().bytes == "last");
  CHECK(partials.empty());
  CHECK(partials.bytes() == 0);
}

TEST_CASE("values have so many bytes together, and beyond it each variable keeps its newest") {
  Partials partials{{"x", "y"}};
  const std::string bytes(limits::kPartialInlineBytesMax, 'b');
  constexpr std::size_t kEach = limits::kPartialInlineBytesMax + Partials::kRecordBytes;
  std::uint64_t number = 0;
  while (partials.bytes() + kEach <= Partials::kBytesMax)
    CHECK(partials.add(value(0, ++number, bytes), kNow).empty());
  const auto exact = partials.records();
  CHECK(exact == Partials::kBytesMax / kEach);
  for (int i = 0; i < 100; ++i) CHECK(partials.add(value(0, ++number, bytes), kNow).empty());
  CHECK(partials.records() == exact);
  // Another variable is not shut out.
  CHECK(partials.add(value(1, 1, bytes), kNow).empty());
  CHECK(partials.add(value(1, 2, bytes), kNow).empty());
  CHECK(partials.records() == exact + 1);
  CHECK(partials.bytes() <= Partials::kBytesMax + kEach);
  std::int64_t changes = 0;
  for (const auto& record : drained(partials)) changes += record.variable == "x" ? record.changes : 0;
  CHECK(changes == static_cast<std::int64_t>(number));
}

TEST_CASE("what was said once is said again as it was, however much has come since") {
  Partials partials{{"x"}};
  for (std::uint64_t i = 1; i <= 10; ++i) CHECK(partials.add(value(0, i), kNow).empty());
  const auto said = numbers_of(partials.take(kRoom, kNow));
  CHECK(said.size() == 10);
  CHECK(partials.take(kRoom, kNow).empty());  // one message at a time
  partials.unsaid();
  for (std::uint64_t i = 11; i <= 2 * Partials::kRecordsMax; ++i)
    CHECK(partials.add(value(0, i), kNow).empty());
  const auto again = drained(partials);
  CHECK(numbers_of({again.begin(), again.begin() + 10}) == said);
  for (std::size_t i = 0; i < 10; ++i) CHECK(again[i].changes == 1);
  std::int64_t changes = 0;
  for (const auto& record : again) changes += record.changes;
  CHECK(changes == 2 * static_cast<std::int64_t>(Partials::kRecordsMax));
}

TEST_CASE("a message has as many records as fit, and every variable has its turn") {
  Partials partials{{"x", "y"}};
  for (std::uint64_t i = 1; i <= 2 * limits::kPartialsInMessageMax; ++i)
    CHECK(partials.add(value(0, i), kNow).empty());
  CHECK(partials.add(value(1, 1), kNow).empty());
  CHECK(partials.take(100, kNow).empty());
  CHECK(partials.take(kRoom, kNow).size() == limits::kPartialsInMessageMax);
  partials.acknowledged();
  const auto second = partials.take(kRoom, kNow);
  CHECK(second.front().variable == "y");
  CHECK(second.size() == limits::kPartialsInMessageMax);
}

TEST_CASE(
    "what the market cannot take now is said again later, and what it refuses the next record stands for") {
  Partials partials{{"x"}};
  CHECK(partials.add(value(0, 1), kNow).empty());
  CHECK(partials.take(kRoom, kNow).size() == 1);
  partials.say_again(kNow + 1s);
  CHECK(partials.due() == kNow + 1s);
  CHECK(partials.take(kRoom, kNow).empty());
  partials.wake(kNow + 1s);
  CHECK(partials.due() == Time::max());
  CHECK(partials.take(kRoom, kNow + 1s).size() == 1);
  partials.refused();
  CHECK(partials.empty());
  CHECK(partials.add(value(0, 2), kNow).empty());
  CHECK(partials.add(value(0, 3), kNow).empty());
  auto records = partials.take(kRoom, kNow + 2s);
  REQUIRE(records.size() == 2);
  CHECK(records[0].changes == 2);
  CHECK(partials.add(value(0, 4), kNow).empty());
  partials.refused();
  records = partials.take(kRoom, kNow + 3s);
  REQUIRE(records.size() == 1);
  CHECK(records[0].changes == 4);
}

TEST_CASE("how many changes are not known together when one is not") {
  Partials partials{{"x"}};
  auto unknown = large(0, 1, "one");
  unknown.changes = 0;
  CHECK(partials.add(unknown, kNow).empty());
  CHECK(partials.add(value(0, 2), kNow) == "one");
  CHECK(partials.take(kRoom, kNow).front().changes == 0);
}

TEST_CASE("a large value that waits gives way to a newer one, and one that is uploaded does not") {
  Partials partials{{"x", "y", "z"}};
  CHECK(partials.add(large(0, 1, "one"), kNow).empty());
  const auto first = partials.next_upload(kNow);
  REQUIRE(first);
  CHECK(first->file == "one");
  CHECK(partials.add(large(0, 2, "two"), kNow).empty());
  CHECK(partials.add(large(0, 3, "three"), kNow) == "two");
  CHECK(partials.records() == 2);
  CHECK_FALSE(partials.next_upload(kNow));  // the one before it first
  CHECK(partials.take(kRoom, kNow).empty());
  // So many at once.
  CHECK(partials.add(large(1, 1, "y"), kNow).empty());
  CHECK(partials.add(large(2, 1, "z"), kNow).empty());
  REQUIRE(partials.next_upload(kNow));
  CHECK_FALSE(partials.next_upload(kNow));
  partials.uploaded(*first, {std::string(64, 'a')}, 100'000);
  const auto records = partials.take(kRoom, kNow);
  REQUIRE(records.size() == 1);
  CHECK(records[0].chunks.size() == 1);
  CHECK(records[0].size == 100'000);
  CHECK(partials.next_upload(kNow)->file == "z");
  partials.acknowledged();
  partials.not_uploaded({1, 1, "y"}, "no room");
  CHECK(partials.take(kRoom, kNow).front().words == "no room");
  const auto third = partials.next_upload(kNow);
  REQUIRE(third);
  CHECK(third->file == "three");
  partials.acknowledged();
  partials.upload_again(*third, kNow + 1s);
  CHECK(partials.due() == kNow + 1s);
  CHECK_FALSE(partials.next_upload(kNow));
  partials.wake(kNow + 1s);
  CHECK(partials.next_upload(kNow + 1s)->file == "three");
  partials.uploaded(*third, {std::string(64, 'b')}, 5);
  CHECK(partials.take(kRoom, kNow).front().changes == 2);
}

TEST_CASE("ages count from the run's beginning, as the record with the least delay tells it") {
  Partials partials{{"x"}};
  auto slow = value(0, 1);
  slow.at_us = 1'000'000;
  CHECK(partials.add(slow, kNow + 1500ms).empty());
  auto quick = value(0, 2);
  quick.at_us = 2'000'000;
  CHECK(partials.add(quick, kNow + 2000ms).empty());
  auto slow_again = value(0, 3);
  slow_again.at_us = 2'500'000;
  CHECK(partials.add(slow_again, kNow + 2900ms).empty());
  const auto records = partials.take(kRoom, kNow + 3000ms);
  REQUIRE(records.size() == 3);
  CHECK(records[1].age_ms == 1000);
  CHECK(records[2].age_ms == 500);
}

TEST_CASE("words of a guest that nobody can read, and variables that nobody watches, break nothing") {
  Partials partials{{"x"}};
  CHECK(partials.add(large(1, 1, "stray"), kNow) == "stray");
  CHECK(partials.add(value(0, 0), kNow).empty());
  CHECK(partials.empty());
  PartialValue problem{.variable = 0,
                       .number = UINT64_MAX,
                       .changes = UINT64_MAX,
                       .at_us = -1,
                       .kind = PartialValue::Kind::problem,
                       .words = std::string(5000, '\xff')};
  CHECK(partials.add(problem, kNow).empty());
  problem.number = 2;
  problem.words = std::string(3, '\0');
  CHECK(partials.add(problem, kNow).empty());
  CHECK(partials.add(value(0, 3, std::string(limits::kPartialInlineBytesMax + 1, 'b')), kNow).empty());
  // Every message must be one that a market can read: the stage sees to that.
  Stage stage;
  stage.send(text_of(protocol::Frame<protocol::FromAgent>{
      1, 0, protocol::Partials{{Stage::name(1), "token"}, partials.take(kRoom, kNow)}}));
}

TEST_CASE("an attempt's records are said as they come, and its outcome only after they are acknowledged") {
  Stage stage;
  stage.connect();
  stage.begin(1);
  stage.jobs.changed(Stage::name(1), value(0, 1), stage.now);
  stage.session.speak(stage.now);
  REQUIRE(stage.all<protocol::Partials>().size() == 1);
  CHECK(stage.all<protocol::Partials>()[0].records[0].variable == "x");
  stage.jobs.changed(Stage::name(1), value(1, 1), stage.now);
  stage.jobs.changed(Stage::name(1), value(1, 2, "last"), stage.now);
  stage.end(1, {.ending = Ending::completed});
  CHECK(stage.deliveries.empty());
  stage.acknowledge();
  REQUIRE(stage.all<protocol::Partials>().size() == 2);
  CHECK(stage.all<protocol::Partials>()[1].records.size() == 2);
  CHECK(stage.deliveries.empty());
  stage.pass(5s);
  REQUIRE(!stage.all<protocol::Beat>().empty());
  stage.acknowledge();
  REQUIRE(stage.deliveries.size() == 1);
  stage.deliver_all(1);
  CHECK(stage.all<protocol::Outcome>().size() == 1);
}

TEST_CASE(
    "records that were not acknowledged are said again after a reconnect, then those that came meanwhile") {
  Stage stage;
  stage.connect();
  stage.begin(1);
  for (std::uint64_t i = 1; i <= 3; ++i) stage.jobs.changed(Stage::name(1), value(0, i), stage.now);
  stage.session.speak(stage.now);
  stage.session.closed(1006, "gone", stage.now);
  for (std::uint64_t i = 4; i <= 2000; ++i) stage.jobs.changed(Stage::name(1), value(0, i), stage.now);
  stage.end(1, {.ending = Ending::completed});
  stage.pass(1s);
  stage.said.clear();
  stage.connect({Stage::name(1)});
  for (int i = 0; i < 10; ++i) stage.acknowledge();
  std::vector<PartialRecord> all;
  for (const auto& message : stage.all<protocol::Partials>())
    all.insert(all.end(), message.records.begin(), message.records.end());
  REQUIRE(all.size() == 2000);
  for (std::size_t i = 0; i < all.size(); ++i) REQUIRE(all[i].number == static_cast<std::int64_t>(i) + 1);
  CHECK(stage.deliveries.size() == 1);
}

TEST_CASE("records that come too fast are told again, and what the market has no room for is left out") {
  Stage stage;
  stage.connect();
  stage.begin(1);
  stage.jobs.changed(Stage::name(1), value(0, 1), stage.now);
  stage.session.speak(stage.now);
  stage.tell(protocol::Problem{stage.last, "rate_limited", "", Stage::name(1)}, stage.last);
  CHECK(stage.all<protocol::Partials>().size() == 1);
  stage.pass(1s);
  REQUIRE(stage.all<protocol::Partials>().size() == 2);
  stage.tell(protocol::Problem{stage.last, "quota_exceeded", "", Stage::name(1)}, stage.last);
  stage.end(1, {.ending = Ending::completed});
  CHECK(stage.deliveries.size() == 1);
}

TEST_CASE("a large value is uploaded, tried again, and told; a job that is stopped tells nothing") {
  Stage stage;
  stage.connect();
  stage.begin(1);
  stage.jobs.changed(Stage::name(1), large(0, 1, "one"), stage.now);
  stage.session.speak(stage.now);
  REQUIRE(stage.uploads.size() == 1);
  CHECK(stage.all<protocol::Partials>().empty());
  stage.jobs.uploaded(Stage::name(1), stage.uploads[0], {"no_answer", "away"}, {}, 0, stage.now);
  stage.pass(2s);
  REQUIRE(stage.uploads.size() == 2);
  stage.jobs.changed(Stage::name(1), large(0, 2, "two"), stage.now);
  stage.jobs.changed(Stage::name(1), large(0, 3, "three"), stage.now);
  CHECK(stage.discards == std::vector<std::string>{"two"});
  stage.jobs.uploaded(Stage::name(1), stage.uploads[1], {}, {std::string(64, 'a')}, 70'000, stage.now);
  stage.session.speak(stage.now);
  REQUIRE(stage.all<protocol::Partials>().size() == 1);
  CHECK(stage.all<protocol::Partials>()[0].records[0].size == 70'000);
  stage.acknowledge();
  stage.pass(1s);
  CHECK(stage.uploads.size() == 3);
  stage.jobs.uploaded(Stage::name(1), stage.uploads[2], {"quota_exceeded", "full"}, {}, 0, stage.now);
  CHECK(stage.discards.back() == "three");
  stage.tell(protocol::Stop{{Stage::name(1)}, "cancelled"});
  CHECK(stage.all<protocol::Partials>().size() == 1);
  CHECK(stage.jobs.count() == 0);
}

TEST_CASE("records leave room for an outcome of the largest size") {
  Stage stage;
  stage.connect();
  stage.begin(1);
  stage.begin(2);
  const std::string bytes(limits::kPartialInlineBytesMax, 'b');
  stage.end(1, {.ending = Ending::completed});
  for (std::uint64_t i = 1; i <= 8; ++i) stage.jobs.changed(Stage::name(2), value(0, i, bytes), stage.now);
  stage.session.speak(stage.now);
  stage.jobs.delivered(Stage::name(1), {},
                       {{"output", "result.rds", std::string(limits::kOutcomeBytesMax - 100, 'x')}},
                       stage.now);
  stage.session.speak(stage.now);
  CHECK(stage.all<protocol::Outcome>().empty());
  CHECK(stage.all<protocol::Partials>().size() == 1);
  stage.acknowledge();
  CHECK(stage.all<protocol::Outcome>().size() == 1);
}

TEST_CASE("changes that a job lies about add up to what the market accepts, and no further") {
  Stage stage;
  stage.connect();
  stage.begin(1);
  for (std::uint64_t i = 1; i <= 40; ++i) {
    // A large value that nobody has uploaded gives way to the next one, which stands for both.
    auto lie = large(0, i, "file");
    lie.changes = (std::uint64_t{1} << 53) - 1;
    stage.jobs.changed(Stage::name(1), lie, stage.now);
  }
  for (std::size_t i = 0; i < stage.uploads.size(); ++i)
    stage.jobs.uploaded(Stage::name(1), stage.uploads[i], {}, {std::string(64, 'a')}, 70'000, stage.now);
  for (int i = 0; i < 4; ++i) {
    stage.session.speak(stage.now);
    stage.acknowledge();
    for (std::size_t j = 0; j < stage.uploads.size(); ++j)
      stage.jobs.uploaded(Stage::name(1), stage.uploads[j], {}, {std::string(64, 'a')}, 70'000, stage.now);
  }
  const auto said = stage.all<protocol::Partials>();
  REQUIRE(said.size() == 2);
  CHECK(said[1].records[0].number == 40);
  CHECK(said[1].records[0].changes == limits::kPartialCountMax);
}

TEST_CASE("a change that a job dates into another century has an age that the market accepts") {
  Stage stage;
  stage.connect();
  stage.begin(1);
  auto lie = value(0, 1);
  lie.at_us = (std::int64_t{1} << 53) - 1;
  stage.jobs.changed(Stage::name(1), lie, stage.now);
  lie = value(0, 2);
  lie.at_us = 0;
  stage.jobs.changed(Stage::name(1), lie, stage.now);
  lie = value(0, 3);
  lie.at_us = -5;
  stage.jobs.changed(Stage::name(1), lie, stage.now);
  stage.session.speak(stage.now);
  REQUIRE(stage.all<protocol::Partials>().size() == 1);
  CHECK(stage.all<protocol::Partials>()[0].records[1].age_ms == limits::kPartialAgeMsMax);
}

}  // namespace remotist::volunteer
