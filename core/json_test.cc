#include "core/json.h"

#include <doctest/doctest.h>
#include <string>

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

}  // namespace remotist
