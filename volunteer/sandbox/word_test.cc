#include "volunteer/sandbox/word.h"

#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "core/limits.h"
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
