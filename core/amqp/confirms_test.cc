#include "core/amqp/confirms.h"

#include <algorithm>
#include <cstdlib>
#include <doctest/doctest.h>
#include <map>
#include <random>

namespace remotist::amqp {
namespace {

std::vector<PublishResult> results_of(const std::vector<Confirms::Settled>& settled) {
  std::vector<PublishResult> results;
  for (const auto& each : settled) results.push_back(each.result);
  return results;
}

Confirms with_publishes(std::uint64_t count) {
  Confirms confirms;
  for (std::uint64_t tag = 1; tag <= count; ++tag) confirms.published(tag);
  return confirms;
}

}  // namespace

TEST_CASE("a single confirm settles its publish and no other") {
  Confirms confirms = with_publishes(3);
  const auto settled = confirms.confirmed(2, false);
  REQUIRE(settled.size() == 1);
  CHECK(settled[0].tag == 2);
  CHECK(settled[0].result == PublishResult::confirmed);
  CHECK(confirms.open() == 2);
}

TEST_CASE("a multiple confirm settles everything before it that is still open") {
  Confirms confirms = with_publishes(5);
  CHECK(results_of(confirms.refused(2, false)) == std::vector{PublishResult::refused});
  const auto settled = confirms.confirmed(4, true);
  REQUIRE(settled.size() == 3);
  CHECK(settled[0].tag == 1);
  CHECK(settled[1].tag == 3);
  CHECK(settled[2].tag == 4);
  CHECK(confirms.open() == 1);
}

TEST_CASE("tag 0 with multiple means everything so far") {
  Confirms confirms = with_publishes(3);
  CHECK(confirms.confirmed(0, true).size() == 3);
  CHECK(confirms.open() == 0);
}

TEST_CASE("a returned message is settled by its confirm, as returned, also within a multiple") {
  Confirms confirms = with_publishes(3);
  confirms.returned(2);
  CHECK(confirms.open() == 3);
  CHECK(results_of(confirms.confirmed(3, true)) ==
        std::vector{PublishResult::confirmed, PublishResult::returned, PublishResult::confirmed});
}

TEST_CASE("answers to publishes that are not open change nothing") {
  Confirms confirms;
  CHECK(confirms.confirmed(1, true).empty());
  CHECK(confirms.confirmed(1, false).empty());
  confirms.returned(1);
  confirms.published(1);
  CHECK(confirms.confirmed(1, false).size() == 1);
  CHECK(confirms.confirmed(1, false).empty());
  CHECK(confirms.refused(7, false).empty());
  confirms.returned(0);
  CHECK(confirms.open() == 0);
}

TEST_CASE("a broker that answers past what was published settles only what was") {
  Confirms confirms = with_publishes(2);
  CHECK(confirms.confirmed(~std::uint64_t{0}, true).size() == 2);
}

// A broker that routes some messages and returns others, stores some and refuses others, and answers in any
// order and grouping that AMQP allows.
TEST_CASE("whatever the broker's order, each publish is settled once and with its own result") {
  const char* given = std::getenv("REMOTIST_TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
  MESSAGE("REMOTIST_TEST_SEED=" << seed);
  std::mt19937_64 random{seed};
  const auto chance = [&](unsigned percent) { return random() % 100 < percent; };

  for (int round = 0; round < 200; ++round) {
    struct Expected {
      PublishResult result;
      bool return_sent;
    };
    Confirms confirms;
    std::map<std::uint64_t, Expected> open;  // the model
    std::uint64_t last_tag = 0;
    const std::uint64_t total = 1 + random() % 60;
    const unsigned publish_percent = 20 + static_cast<unsigned>(random() % 60);

    while (last_tag < total || !open.empty()) {
      if (last_tag < total && chance(publish_percent)) {
        confirms.published(++last_tag);
        const PublishResult result = chance(70)   ? PublishResult::confirmed
                                     : chance(50) ? PublishResult::returned
                                                  : PublishResult::refused;
        open[last_tag] = {result, false};
      } else if (!open.empty()) {
        auto chosen = std::next(open.begin(), static_cast<std::ptrdiff_t>(random() % open.size()));
        if (chosen->second.result == PublishResult::returned && !chosen->second.return_sent) {
          confirms.returned(chosen->first);
          chosen->second.return_sent = true;
          continue;
        }
        const bool refused = chosen->second.result == PublishResult::refused;
        const auto end = std::next(chosen);
        const bool multiple =
            chance(50) && std::all_of(open.begin(), end, [&](const auto& each) {
              return (each.second.result == PublishResult::refused) == refused &&
                     (each.second.result != PublishResult::returned || each.second.return_sent);
            });
        const auto first = multiple ? open.begin() : chosen;
        const auto settled =
            refused ? confirms.refused(chosen->first, multiple) : confirms.confirmed(chosen->first, multiple);
        REQUIRE(settled.size() == static_cast<std::size_t>(std::distance(first, end)));
        CHECK(std::equal(first, end, settled.begin(), [](const auto& expected, const auto& got) {
          return expected.first == got.tag && expected.second.result == got.result;
        }));
        open.erase(first, end);
      }
      REQUIRE(confirms.open() == open.size());
    }
  }
}

}  // namespace remotist::amqp
