#include "core/json.h"

#include <doctest/doctest.h>
#include <string>

#include "tests/fuzz/corpus.h"
#include "tests/fuzz/documents.h"

namespace remotist {

TEST_CASE("JSON of anybody is read, or there is none") {
  CHECK(json_if_any(R"({"a": [1, {"b": null}]})")->at("a").size() == 2);
  CHECK(json_if_any("null")->is_null());
  for (const auto* const text : {"", "{", "{} {}", "[1,]", "\xff", "nul"}) {
    CAPTURE(text);
    CHECK_FALSE(json_if_any(text).has_value());
    CHECK_THROWS_AS(json_in(text), nlohmann::json::parse_error);
  }
}

TEST_CASE("JSON that is nested too deeply is none") {
  CHECK(json_if_any("[[1]]", 2).has_value());
  CHECK_FALSE(json_if_any("[[[1]]]", 2).has_value());
  CHECK_FALSE(json_if_any(R"({"a": {"b": {}}})", 2).has_value());
  const std::string deep(1'000'000, '[');
  CHECK_FALSE(json_if_any(deep).has_value());
}

TEST_CASE("untrusted text is parsed as the library parses it, and refused where and as it refuses it") {
  for (const char* corpus : {"messages", "bodies", "guest", "names"})
    fuzz::check_corpus(corpus, fuzz::parser_broken_by);
  for (const auto* const text : {"",
                                 " ",
                                 "{",
                                 "}",
                                 "[1,]",
                                 "{\"a\":1,\"a\":[2]}",
                                 "{\"a\":{},\"a\":null}",
                                 "[[],{},[{}]]",
                                 "1e999",
                                 "-1e999",
                                 "1e-999",
                                 "9223372036854775808",
                                 "-9223372036854775809",
                                 "18446744073709551616",
                                 "-0",
                                 "01",
                                 "\"\\ud800\"",
                                 "\"\\u0000\"",
                                 "\"\xff\"",
                                 "\xef\xbb\xbf[1]",
                                 "\xef\xbb",
                                 "tru",
                                 "null null",
                                 "// c\n1",
                                 "{1:2}",
                                 "{\"a\" 1}",
                                 "\"\t\""}) {
    CAPTURE(text);
    CHECK(fuzz::parser_broken_by(text) == "");
  }
  const auto nested = [](int depth) { return std::string(static_cast<std::size_t>(depth), '['); };
  for (const int depth : {limits::kJsonDepthMax - 1, limits::kJsonDepthMax, limits::kJsonDepthMax + 1}) {
    const auto ends = std::string(static_cast<std::size_t>(depth), ']');
    CHECK(fuzz::parser_broken_by(nested(depth) + ends) == "");
    CHECK(fuzz::parser_broken_by(nested(depth) + "!") == "");
    CHECK(fuzz::parser_broken_by("[!" + nested(depth)) == "");
  }
}

}  // namespace remotist
