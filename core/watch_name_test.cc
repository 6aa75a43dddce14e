#include "core/watch_name.h"

#include <doctest/doctest.h>
#include <fstream>
#include <nlohmann/json.hpp>

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

TEST_CASE("a text that is not a watched name is refused with the position of the mistake") {
  std::ifstream in{REMOTIST_SOURCE_DIR "/client-r/tests/testthat/watch-names.json"};
  const auto cases = nlohmann::json::parse(in);
  REQUIRE(cases.size() > 50);
  for (const auto& row : cases) {
    const auto text = row.at("name").get<std::string>();
    CAPTURE(text);
    const auto name = parse_watch_name(text);
    CHECK(name.has_value() == !row.contains("character"));
    if (!name && row.contains("character")) {
      CHECK(name.error().character == row["character"].get<std::size_t>());
      CHECK(name.error().detail.contains("cannot be watched"));
    }
  }
  CHECK_FALSE(parse_watch_name("\xff\xfe").has_value());
  CHECK(parse_watch_name("loss evry 5").error().detail ==
        "\"loss evry 5\" cannot be watched: expected \"every SECONDS\" or \"by FRACTION\" at character 6");
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
