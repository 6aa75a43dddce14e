#include "core/utf8.h"

#include <doctest/doctest.h>

using namespace remotist;

TEST_CASE("text is UTF-8 or it is not") {
  for (const char* text : {"", "plain", "ção", "日本語", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
    CHECK(is_utf8(text));
  for (const char* text :
       {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\x80", "\xe2\x82"}) {
    CHECK(!is_utf8(text));
  }
}

TEST_CASE("text is cut between characters, and what is no character becomes a question mark") {
  CHECK(utf8_within("ção", 3) == "ç");
  CHECK(utf8_within("ção", 4) == "çã");
  CHECK(utf8_within("a\xff", 10) == "a?");
  CHECK(utf8_within("abc", 0).empty());
}

TEST_CASE("a clean text has no control characters but tab and line feed") {
  CHECK(clean_text(std::string_view{"a\0b", 3}, 10) == "a?b");
  CHECK(clean_text("a\tb\nc", 10) == "a\tb\nc");
  CHECK(clean_text("\r\x1b[31m\x7f", 10) == "??[31m?");
  CHECK(clean_text("\xc2\x85\xc2\x9f\xc2\xa0é", 10) == "??\xc2\xa0é");
  CHECK(clean_text("\xff\xc3", 10) == "??");
  CHECK(clean_text("ção", 3) == "ç");
  CHECK(has_control_characters("a\n"));
  CHECK(has_control_characters("\xc2\x80"));
  CHECK_FALSE(has_control_characters("é \xc2\xa0"));
}
