#include "volunteer/connection/window.h"

#include <doctest/doctest.h>

#include "core/limits.h"

namespace remotist::volunteer {
namespace {

protocol::AttemptName attempt(int number) {
  return {*JobId::parse("01940000-0000-7000-8000-000000000001"), number};
}

Sent outcome_of(int number) {
  return {.kind = Sent::Kind::outcome, .attempts = {attempt(number)}, .at = {}};
}

}  // namespace

TEST_CASE("a window takes 64 messages, and the next when one is acknowledged") {
  Window window;
  for (std::size_t i = 0; i < limits::kUnackedMessagesMax; ++i) {
    REQUIRE(window.has_room(10));
    window.sent(outcome_of(1), 10);
  }
  CHECK_FALSE(window.has_room(0 + 1));
  CHECK(window.room_bytes() == 0);
  CHECK(window.acknowledged(1).size() == 1);
  CHECK(window.has_room(10));
  CHECK(window.next_number() == 65);
}

TEST_CASE("a window takes 256 KiB and not a byte more") {
  Window window;
  window.sent(outcome_of(1), 1000);
  CHECK(window.has_room(limits::kUnackedBytesMax - 1000));
  CHECK_FALSE(window.has_room(limits::kUnackedBytesMax - 999));
  window.sent(outcome_of(2), limits::kUnackedBytesMax - 1000);
  CHECK(window.room_bytes() == 0);
  window.acknowledged(1);
  CHECK(window.room_bytes() == 1000);
}

TEST_CASE("an acknowledgement settles everything up to it, once") {
  Window window;
  for (int i = 1; i <= 5; ++i) window.sent(outcome_of(i), 10);
  const auto first = window.acknowledged(3);
  REQUIRE(first.size() == 3);
  CHECK(first[0].number == 1);
  CHECK(first[2].attempts == std::vector{attempt(3)});
  CHECK(window.acknowledged(3).empty());
  CHECK(window.acknowledged(2).empty());
  CHECK(window.open() == 2);
  CHECK(window.open_bytes() == 20);
  CHECK_FALSE(window.was_said(6));
  CHECK(window.acknowledged(6).size() == 2);
}

TEST_CASE("only open messages are found, and what is struck out is settled without its attempt") {
  Window window;
  for (int i = 1; i <= 3; ++i) window.sent(outcome_of(i), 10);
  window.acknowledged(1);
  CHECK(window.find(1) == nullptr);
  REQUIRE(window.find(2) != nullptr);
  CHECK(window.find(2)->attempts == std::vector{attempt(2)});
  CHECK(window.find(4) == nullptr);
  window.strike_out(attempt(2));
  const auto settled = window.acknowledged(3);
  REQUIRE(settled.size() == 2);
  CHECK(settled[0].attempts.empty());
  CHECK(settled[1].attempts.size() == 1);
}

}  // namespace remotist::volunteer
