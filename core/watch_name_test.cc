#include "core/watch_name.h"

#include <doctest/doctest.h>

#include "core/limits.h"
#include "tests/fuzz/corpus.h"
#include "tests/fuzz/names.h"

namespace remotist {

TEST_CASE("a watched name is a variable, an element of one, or either with a rule") {
  CHECK(parse_watch_name("x")->variable == "x");
  CHECK(parse_watch_name(".hidden_1")->variable == ".hidden_1");
  CHECK(parse_watch_name("größe")->variable == "größe");
  CHECK(parse_watch_name("`my variable`")->variable == "my variable");
  const auto deep = parse_watch_name("fit$a@b[[3]][[\"c d\"]]$`e f`");
  REQUIRE(deep.has_value());
  REQUIRE(deep->steps.size() == 5);
  CHECK(deep->steps[0].kind == WatchStep::Kind::dollar);
  CHECK(deep->steps[1].kind == WatchStep::Kind::slot);
  CHECK(deep->steps[2].number == 3);
  CHECK(deep->steps[3].name == "c d");
  CHECK(deep->steps[3].number == 0);
  CHECK(deep->steps[4].name == "e f");
  CHECK(parse_watch_name("x every 0.5")->rule.kind == WatchRule::Kind::seconds);
  CHECK(parse_watch_name("x every 0.5")->rule.amount == 0.5);
  CHECK(parse_watch_name("fit$loss by 1e-3")->rule.kind == WatchRule::Kind::fraction);
  CHECK(parse_watch_name("fit$loss by 1e-3")->rule.amount == 0.001);
  CHECK(parse_watch_name("x")->rule.kind == WatchRule::Kind::every_change);
}

TEST_CASE("what is no watched name is refused with words") {
  for (const auto* const text : {"",
                                 " x",
                                 "x ",
                                 "2x",
                                 ".5",
                                 "_x",
                                 "x y",
                                 "x$",
                                 "x@",
                                 "x[[",
                                 "x[[]]",
                                 "x[[0]]",
                                 "x[[-1]]",
                                 "x[1]",
                                 "x[[1]",
                                 "``",
                                 "`x",
                                 "x$$y",
                                 "f(x)",
                                 "x every",
                                 "x every ",
                                 "x every 0",
                                 "x every -1",
                                 "x every nan",
                                 "x every inf",
                                 "x every 5s",
                                 "x  every 5",
                                 "x by 0",
                                 "x by 5 every 5",
                                 "x every 86401",
                                 "x by 1000001",
                                 "x\ny",
                                 "\xff\xfe"}) {
    CAPTURE(text);
    const auto refused = parse_watch_name(text);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().contains("cannot be watched"));
  }
}

TEST_CASE("a watched name may be as long as its limit, lead as far down, and no further") {
  CHECK(parse_watch_name(std::string(limits::kVariableNameBytesMax, 'x')).has_value());
  CHECK_FALSE(parse_watch_name(std::string(limits::kVariableNameBytesMax + 1, 'x')).has_value());
  std::string deep = "x";
  for (std::size_t i = 0; i < kWatchStepsMax; ++i) deep += "$y";
  CHECK(parse_watch_name(deep).has_value());
  CHECK_FALSE(parse_watch_name(deep + "$y").has_value());
  CHECK(parse_watch_name("x every 86400").has_value());
  CHECK(parse_watch_name("x by 1000000").has_value());
}

TEST_CASE("names that the fuzzer starts from or once found break nothing") {
  fuzz::check_corpus("names", fuzz::names_broken_by);
}

}  // namespace remotist
