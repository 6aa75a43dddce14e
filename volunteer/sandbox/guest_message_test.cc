#include "volunteer/sandbox/guest_message.h"

#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "core/limits.h"
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/guest.h"
#include "volunteer/sandbox/frames.h"

using namespace remotist;
using namespace remotist::volunteer;

TEST_CASE("the host parses what the runner encodes") {
  CHECK(std::holds_alternative<Began>(*parse_guest_message(encode(Began{}))));
  CHECK(std::holds_alternative<Completed>(*parse_guest_message(encode(Completed{}))));
  CHECK(std::get<Refused>(*parse_guest_message(encode(Refused{"no"}))).message == "no");
  const auto progress = std::get<Progressed>(*parse_guest_message(encode(Progressed{0.25, "a quarter"})));
  CHECK(progress.fraction == 0.25);
  CHECK(progress.message == "a quarter");
  const auto failed = std::get<Failed>(*parse_guest_message(encode(Failed{"bad", "f(1)", {"f(1)", "g()"}})));
  CHECK(failed.message == "bad");
  CHECK(failed.call == "f(1)");
  CHECK(failed.traceback == std::vector<std::string>{"f(1)", "g()"});
}

TEST_CASE("what a runner says of checkpoints arrives as it was sent") {
  const auto arrived = []<class Message>(const Message& sent) {
    return std::get<Message>(*parse_guest_message(encode(sent)));
  };
  CHECK(arrived(CheckpointBegun{7}).number == 7);
  const auto complete = arrived(Checkpointed{7, 1.5, 20.25});
  CHECK(complete.number == 7);
  CHECK(complete.pause_ms == 1.5);
  CHECK(complete.child_cpu_ms == 20.25);
  CHECK(arrived(CheckpointRefused{"within optim()"}).reason == "within optim()");
  CHECK(arrived(NotResumable{"odd"}).reason == "odd");
  CHECK(arrived(ResumeFailed{"damaged"}).reason == "damaged");
  CHECK(std::holds_alternative<Resumed>(*parse_guest_message(encode(Resumed{}))));
  const std::string hash{"\0\xff", 2};
  const auto marks =
      arrived(WatchedMarks{7, {{3, WatchedKind::removed, hash}, {0, WatchedKind::value, hash}, {}}});
  CHECK(marks.number == 7);
  REQUIRE(marks.marks.size() == 3);
  CHECK(marks.marks[0].number == 3);
  CHECK(marks.marks[0].kind == WatchedKind::removed);
  CHECK(marks.marks[0].hash == hash);
  CHECK(marks.marks[1].number == 0);
  CHECK(marks.marks[1].hash == hash);
  CHECK(marks.marks[2].hash.empty());
}

TEST_CASE("marks of watched variables that contradict themselves or exceed a limit are rejected") {
  const auto marks = [](std::size_t count, WatchedMark each) {
    return parse_guest_message(encode(WatchedMarks{1, std::vector<WatchedMark>(count, each)})).has_value();
  };
  CHECK(marks(limits::kWatchedVariablesMax, {1, WatchedKind::value, "h"}));
  CHECK_FALSE(marks(limits::kWatchedVariablesMax + 1, {1, WatchedKind::value, "h"}));
  CHECK(marks(1, {1, WatchedKind::value, std::string(kWatchedHashBytesMax, 'h')}));
  CHECK_FALSE(marks(1, {1, WatchedKind::value, std::string(kWatchedHashBytesMax + 1, 'h')}));
  CHECK_FALSE(marks(1, {1, WatchedKind::value, ""}));
  CHECK_FALSE(marks(1, {-1, WatchedKind::value, "h"}));
  CHECK_FALSE(marks(1, {limits::kRecordCountMax + 1, WatchedKind::value, "h"}));
  CHECK(parse_guest_message(
      encode(WatchedMarks{1, std::vector<WatchedMark>(limits::kWatchedVariablesMax,
                                                      {limits::kRecordCountMax, WatchedKind::removed,
                                                       std::string(kWatchedHashBytesMax, 'h')})})));
}

TEST_CASE("texts are truncated to their limits and made UTF-8 before they are sent") {
  const std::string long_text(100'000, 'x');
  Failed failed{long_text, long_text, std::vector<std::string>(1000, long_text)};
  failed.message[0] = '\xff';
  const auto head = encode(failed);
  CHECK(head.size() <= kFrameHeadBytesMax);
  const auto parsed = std::get<Failed>(*parse_guest_message(head));
  CHECK(parsed.message.size() == limits::kFailureDetailBytesMax);
  CHECK(parsed.message[0] == '?');
  CHECK(parsed.traceback.size() == kTracebackLinesMax);
  CHECK(parsed.traceback[0].size() == kTracebackLineBytesMax);
}

TEST_CASE("a record of a change arrives as it was sent") {
  const auto arrived = [](const GuestRecord& sent) {
    return std::get<GuestRecord>(*parse_guest_message(encode(sent)));
  };
  const auto parsed =
      arrived({.variable = 3, .at_us = 12, .file = "watched-12", .record = {.number = 7, .changes = 2}});
  CHECK(parsed.variable == 3);
  CHECK(parsed.at_us == 12);
  CHECK(parsed.file == "watched-12");
  CHECK(parsed.record.number == 7);
  CHECK(parsed.record.changes == 2);
  CHECK(parsed.record.kind == WatchedKind::value);
  CHECK(arrived({.record = {.number = 1, .kind = WatchedKind::removed}}).record.kind == WatchedKind::removed);
  const auto refused =
      arrived({.record = {.number = 1, .kind = WatchedKind::problem, .words = std::string(5000, 'w')}});
  CHECK(refused.record.kind == WatchedKind::problem);
  CHECK(refused.record.words.size() == limits::kWatchedWordsBytesMax);
}

TEST_CASE("a record whose fields contradict each other is rejected") {
  const GuestRecord good{.record = {.number = 1}};
  CHECK(parse_guest_message(encode(good)));
  auto odd = good;
  odd.record.number = 0;
  CHECK_FALSE(parse_guest_message(encode(odd)));
  odd = good;
  odd.record.words = "why";
  CHECK_FALSE(parse_guest_message(encode(odd)));
  odd = good;
  odd.record.kind = WatchedKind::problem;
  CHECK_FALSE(parse_guest_message(encode(odd)));
  odd.record.words = "why";
  CHECK(parse_guest_message(encode(odd)));
  odd.file = "watched-1";
  CHECK_FALSE(parse_guest_message(encode(odd)));
  for (const auto* const file :
       {"watched-", "watched-x", "watched-1/2", "/watched-1", "watched-1234567890123", "result.rds"}) {
    odd = good;
    odd.file = file;
    CHECK_FALSE(parse_guest_message(encode(odd)));
  }
  odd = good;
  odd.record.number = std::int64_t{1} << 53;
  CHECK_FALSE(parse_guest_message(encode(odd)));
  odd.record.number = (std::int64_t{1} << 53) - 1;
  CHECK(parse_guest_message(encode(odd)));
}

TEST_CASE("a head that is not exactly a message is rejected") {
  for (const char* head :
       {"", "{", "[]", "null", "7", "{}", R"({"type":7})", R"({"type":"unknown"})",
        R"({"type":"completed","more":1})", R"({"type":"progress"})",
        R"({"type":"progress","fraction":1.01,"message":""})",
        R"({"type":"progress","fraction":-0.01,"message":""})",
        R"({"type":"progress","fraction":1e999,"message":""})",
        R"({"type":"progress","fraction":"1","message":""})",
        R"({"type":"progress","fraction":1,"message":7})",
        R"({"type":"r_error","message":"m","call":"c","traceback":"t"})",
        R"({"type":"r_error","message":"m","call":"c","traceback":[1]})", "{\"type\":\"completed\xff\"}"}) {
    CAPTURE(head);
    CHECK_FALSE(parse_guest_message(head));
  }
  CHECK_FALSE(parse_guest_message(std::string(kFrameHeadBytesMax, '[')));
  std::string lines;
  for (std::size_t i = 0; i <= kTracebackLinesMax; ++i) lines += i == 0 ? "\"a\"" : ",\"a\"";
  CHECK_FALSE(
      parse_guest_message(R"({"type":"r_error","message":"m","call":"c","traceback":[)" + lines + "]}"));
}

TEST_CASE("the corpus of the fuzzer of guests' messages breaks nothing") {
  fuzz::check_corpus("guest", fuzz::guest_broken_by);
}
