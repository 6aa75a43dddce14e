#include "volunteer/sandbox/word.h"

#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "core/limits.h"
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/guest.h"
#include "volunteer/sandbox/frames.h"

using namespace remotist;
using namespace remotist::volunteer;

TEST_CASE("what a runner says is what the host hears") {
  CHECK(std::holds_alternative<Began>(*word_in(head_of(Began{}))));
  CHECK(std::holds_alternative<Completed>(*word_in(head_of(Completed{}))));
  CHECK(std::get<Refused>(*word_in(head_of(Refused{"no"}))).message == "no");
  const auto progress = std::get<Progressed>(*word_in(head_of(Progressed{0.25, "a quarter"})));
  CHECK(progress.fraction == 0.25);
  CHECK(progress.message == "a quarter");
  const auto failed = std::get<Failed>(*word_in(head_of(Failed{"bad", "f(1)", {"f(1)", "g()"}})));
  CHECK(failed.message == "bad");
  CHECK(failed.call == "f(1)");
  CHECK(failed.traceback == std::vector<std::string>{"f(1)", "g()"});
}

TEST_CASE("texts are cut to their limits and made UTF-8 before they are sent") {
  const std::string long_text(100'000, 'x');
  Failed failed{long_text, long_text, std::vector<std::string>(1000, long_text)};
  failed.message[0] = '\xff';
  const auto head = head_of(failed);
  CHECK(head.size() <= kFrameHeadBytesMax);
  const auto heard = std::get<Failed>(*word_in(head));
  CHECK(heard.message.size() == limits::kFailureDetailBytesMax);
  CHECK(heard.message[0] == '?');
  CHECK(heard.traceback.size() == kTracebackLinesMax);
  CHECK(heard.traceback[0].size() == kTracebackLineBytesMax);
}

TEST_CASE("a change comes as it was said") {
  const Changed said{.variable = 3,
                     .number = 7,
                     .changes = 0,
                     .at_us = 12,
                     .kind = Changed::Kind::value,
                     .file = "partial-12"};
  const auto heard = std::get<Changed>(*word_in(head_of(said)));
  CHECK(heard.variable == 3);
  CHECK(heard.number == 7);
  CHECK(heard.changes == 0);
  CHECK(heard.at_us == 12);
  CHECK(heard.kind == Changed::Kind::value);
  CHECK(heard.file == "partial-12");
  const Changed refused{
      .variable = 0, .number = 1, .kind = Changed::Kind::problem, .words = std::string(5000, 'w')};
  CHECK(std::get<Changed>(*word_in(head_of(refused))).words.size() == limits::kWatchedWordsBytesMax);
}

TEST_CASE("a change whose parts do not fit each other is none") {
  const Changed good{.variable = 0, .number = 1, .kind = Changed::Kind::value};
  CHECK(word_in(head_of(good)));
  auto odd = good;
  odd.number = 0;
  CHECK_FALSE(word_in(head_of(odd)));
  odd = good;
  odd.words = "why";
  CHECK_FALSE(word_in(head_of(odd)));
  odd = good;
  odd.kind = Changed::Kind::problem;
  CHECK_FALSE(word_in(head_of(odd)));
  odd.words = "why";
  CHECK(word_in(head_of(odd)));
  odd.file = "partial-1";
  CHECK_FALSE(word_in(head_of(odd)));
  for (const auto* const file :
       {"partial-", "partial-x", "partial-1/2", "/partial-1", "partial-1234567890123", "result.rds"}) {
    odd = good;
    odd.file = file;
    CHECK_FALSE(word_in(head_of(odd)));
  }
  odd = good;
  odd.number = std::uint64_t{1} << 53;
  CHECK_FALSE(word_in(head_of(odd)));
  odd.number = (std::uint64_t{1} << 53) - 1;
  CHECK(word_in(head_of(odd)));
}

TEST_CASE("what is not exactly a word is none") {
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
    CHECK_FALSE(word_in(head));
  }
  CHECK_FALSE(word_in(std::string(kFrameHeadBytesMax, '[')));
  std::string lines;
  for (std::size_t i = 0; i <= kTracebackLinesMax; ++i) lines += i == 0 ? "\"a\"" : ",\"a\"";
  CHECK_FALSE(word_in(R"({"type":"r_error","message":"m","call":"c","traceback":[)" + lines + "]}"));
}

TEST_CASE("what guests say, as the fuzzer starts from it or once found it, breaks nothing") {
  fuzz::check_corpus("guest", fuzz::guest_broken_by);
}
