#include "core/log.h"

#include <doctest/doctest.h>

using namespace remotist;

TEST_CASE("a line is its event and its fields") {
  CHECK(log::format("job_leased", {{"job", "42"}, {"ms", 3}, {"ok", true}, {"share", 0.25}}) ==
        "event=job_leased job=42 ms=3 ok=true share=0.25");
}

TEST_CASE("no value can forge a field or a line") {
  CHECK(log::format("e", {{"name", "a b"}}) == R"(event=e name="a b")");
  CHECK(log::format("e", {{"name", "x\nevent=paid"}}) == R"(event=e name="x\x0aevent=paid")");
  CHECK(log::format("e", {{"name", "a\"b\\c"}}) == R"(event=e name="a\"b\\c")");
  CHECK(log::format("e", {{"name", ""}}) == R"(event=e name="")");
  CHECK(log::format("e", {{"name", "\x1b[31m"}}) == R"(event=e name="\x1b[31m")");
}
