#include "core/json_body.h"

#include <doctest/doctest.h>

#include "core/limits.h"
#include "core/utf8.h"
#include "tests/support/allocation_count.h"

using namespace remotist;

namespace {

std::string nested(int depth) {
  return "{\"a\":" + std::string(static_cast<std::size_t>(depth - 1), '[') +
         std::string(static_cast<std::size_t>(depth - 1), ']') + "}";
}

}  // namespace

TEST_CASE("fields are read with their types, and defaults stand in for what is absent or null") {
  JsonBody body{R"({"name":"x","cpu":2.0,"price":1.5,"submit":true,"watch":["a","b"],"ram":null})"};
  CHECK(body.text("name") == "x");
  CHECK(body.integer_or("cpu", 1) == 2);
  CHECK(body.integer_or("ram", 512) == 512);
  CHECK(body.number_or("price", 0) == 1.5);
  CHECK(body.flag_or("submit", false));
  CHECK(body.texts_or_none("watch") == std::vector<std::string>{"a", "b"});
  CHECK_FALSE(body.text_if("code"));
  CHECK_FALSE(body.refusal());
}

TEST_CASE("the first wrong field is named") {
  const auto field_of = [](const char* text, auto read) {
    JsonBody body{text};
    read(body);
    const auto refusal = body.refusal();
    return refusal ? refusal->field : std::string{"none"};
  };
  CHECK(field_of("{}", [](JsonBody& b) { b.text("name"); }) == "name");
  CHECK(field_of(R"({"name":1})", [](JsonBody& b) { b.text("name"); }) == "name");
  CHECK(field_of(R"({"cpu":"2"})", [](JsonBody& b) { b.integer_or("cpu", 1); }) == "cpu");
  CHECK(field_of(R"({"cpu":1.5})", [](JsonBody& b) { b.integer_or("cpu", 1); }) == "cpu");
  CHECK(field_of(R"({"cpu":1e300})", [](JsonBody& b) { b.integer_or("cpu", 1); }) == "cpu");
  CHECK(field_of(R"({"cpu":18446744073709551615})", [](JsonBody& b) { b.integer_or("cpu", 1); }) == "cpu");
  CHECK(field_of(R"({"watch":["a",2]})", [](JsonBody& b) { b.texts_or_none("watch"); }) == "watch[1]");
  CHECK(field_of(R"({"submit":"yes"})", [](JsonBody& b) { b.flag_or("submit", false); }) == "submit");
}

TEST_CASE("a field that nobody asked for is refused") {
  JsonBody body{R"({"name":"x","prise":3})"};
  (void)body.text("name");
  CHECK(body.refusal()->field == "prise");
}

TEST_CASE("what is not a JSON object is refused in words") {
  for (const char* text : {"", "{", "[]", "null", "7", "\"x\"", "{\"a\":1,}", "{\"a\":\"\xff\"}", "{} {}"}) {
    CAPTURE(text);
    JsonBody body{text};
    REQUIRE(body.refusal());
    CHECK(body.refusal()->code == Code::malformed_request);
  }
}

TEST_CASE("what is not JSON is refused with where it is wrong, and without what stands there") {
  const auto refusal = JsonBody{R"({"password":"hunter2" oops)", 1000}.refusal();
  REQUIRE(refusal.has_value());
  CHECK(refusal->detail.contains("line 1, column "));
  CHECK_FALSE(refusal->detail.contains("hunter2"));
  const auto unended = JsonBody{R"({"password":"hunter2)", 1000}.refusal();
  REQUIRE(unended.has_value());
  CHECK_FALSE(unended->detail.contains("hunter2"));
}

TEST_CASE("nesting is accepted at the limit and refused one past it") {
  JsonBody at{nested(limits::kJsonDepthMax)};
  CHECK(at.refusal()->code == Code::invalid_field);  // read, but nobody asked for "a"
  JsonBody past{nested(limits::kJsonDepthMax + 1)};
  CHECK(past.refusal()->code == Code::malformed_request);
  JsonBody far{nested(100'000)};
  CHECK(far.refusal()->code == Code::malformed_request);
}

TEST_CASE("a body is accepted at the limit and refused one past it") {
  const auto sized = [](std::size_t bytes) { return R"({"a":")" + std::string(bytes - 8, 'x') + R"("})"; };
  JsonBody at{sized(limits::kJsonBytesMax)};
  CHECK(at.text("a").size() == limits::kJsonBytesMax - 8);
  CHECK_FALSE(at.refusal());
  JsonBody past{sized(limits::kJsonBytesMax + 1)};
  CHECK(past.refusal()->code == Code::too_large);
}

TEST_CASE("of many fields that nobody asked for only the first takes work") {
  const auto unknown = [](int count) {
    std::string text = R"({"a":1)";
    for (int i = 0; i < count; ++i) text += ",\"unknown_" + std::to_string(i) + "\":0";
    return text + "}";
  };
  const auto work = [&](int count) {
    JsonBody body{unknown(count)};
    (void)body.integer_if("a");
    std::optional<Refusal> refusal;
    const auto allocations = allocations_of([&] { refusal = body.refusal(); });
    REQUIRE(refusal);
    CHECK(refusal->detail.starts_with("unknown_0 is not a field here; those are: a (a whole number)"));
    return allocations;
  };
  CHECK(work(13'000) == work(1));
}

TEST_CASE("refusals are UTF-8 wherever a field's name is cut") {
  for (const std::size_t before : {97U, 98U, 99U, 100U, 101U}) {
    JsonBody body{R"({")" + std::string(before, 'x') + "äöü日本語" + R"(":1})"};
    const auto refusal = body.refusal();
    REQUIRE(refusal);
    CHECK(is_utf8(refusal->detail));
    CHECK(is_utf8(refusal->field));
    CHECK(refusal->field.ends_with("…"));
  }
}

TEST_CASE("the objects of a list are read without copies") {
  const std::string large(1'000, 'x');
  const auto work = [&](int count) {
    auto list = nlohmann::json::array();
    for (int i = 0; i < count; ++i) list.push_back({{"large", large}, {"more", {large, large}}});
    JsonBody body{nlohmann::json{{"list", list}}.dump()};
    return allocations_of(
        [&] { CHECK(body.objects_or_none("list", 100).size() == static_cast<std::size_t>(count)); });
  };
  CHECK(work(20) < 5 * 20);
}

TEST_CASE("a number that is too large is refused without its digits") {
  const auto refusal = JsonBody{R"({"a":1)" + std::string(1000, '7') + "e400}"}.refusal();
  REQUIRE(refusal);
  CHECK(refusal->code == Code::malformed_request);
  CHECK_FALSE(refusal->detail.contains("777"));
}

TEST_CASE("an object within a body is read as one, and its mistakes name the whole way") {
  const auto document = nlohmann::json{{"position", {{"line", 7}, {"extra", 1}}}, {"list", {1}}};
  auto body = JsonBody::of(document);
  auto position = body.object_if("position");
  REQUIRE(position);
  CHECK(position->integer_if("line") == 7);
  CHECK(position->refusal().value().field == "position.extra");
  CHECK_FALSE(body.object_if("absent"));
  CHECK_FALSE(body.refusal().value().field == "position");
  auto other = JsonBody::of(document);
  CHECK_FALSE(other.object_if("list"));
  CHECK(other.refusal().value().field == "list");
}

TEST_CASE("an object of numbers is read up to its limit, and nothing else is a number") {
  const auto read = [](const nlohmann::json& numbers) {
    const nlohmann::json document{{"numbers", numbers}};
    auto body = JsonBody::of(document);
    const auto found = body.integers_by_name_or_none("numbers", 2);
    return body.refusal() ? std::nullopt : std::optional{found};
  };
  CHECK(read({{"x", 1}, {"y", -2}}) == std::map<std::string, std::int64_t>{{"x", 1}, {"y", -2}});
  CHECK(read(nlohmann::json::object())->empty());
  CHECK(read(nullptr)->empty());
  CHECK_FALSE(read({{"x", 1}, {"y", 2}, {"z", 3}}));
  CHECK_FALSE(read({{"x", 1.5}}));
  CHECK_FALSE(read({{"x", "1"}}));
  CHECK_FALSE(read({{"x", UINT64_MAX}}));
  CHECK_FALSE(read({1, 2}));
}
