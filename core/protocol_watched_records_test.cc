#include <doctest/doctest.h>

#include "core/digest.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/protocol.h"

namespace remotist::protocol {
namespace {

using nlohmann::json;
using namespace std::string_literals;

json record(const json& change = json::object()) {
  json document{{"variable", "x"}, {"number", 1},     {"changes", 1},
                {"age_ms", 0},     {"kind", "value"}, {"base64", "eA=="}};
  document.update(change);
  for (auto at = document.begin(); at != document.end();) at = at->is_null() ? document.erase(at) : ++at;
  return document;
}

// What the reader says to a message with these records.
std::optional<Refusal> refusal_of(const json& records) {
  const json message{{"type", "watched_records"},
                     {"seq", 1},
                     {"job", "01941f29-7c00-7aaa-8bbb-0123456789ab"},
                     {"attempt", 1},
                     {"token", "t"},
                     {"records", records}};
  const auto frame = read_from_agent(message.dump());
  return frame ? std::optional<Refusal>{} : std::optional{frame.refusal()};
}

std::optional<Refusal> refusal_with(const json& change) {
  return refusal_of(json::array({record(change)}));
}

std::string field_with(const json& change) {
  const auto refusal = refusal_with(change);
  return refusal ? refusal->field : "";
}

}  // namespace

TEST_CASE("a message has a record at least and so many at most") {
  CHECK(refusal_of(json::array()).value().field == "records");
  CHECK_FALSE(refusal_of(json(limits::kRecordsInMessageMax, record())));
  CHECK(refusal_of(json(limits::kRecordsInMessageMax + 1, record())).value().field == "records");
}

TEST_CASE("the numbers of a record are accepted at their limits and refused past them") {
  for (const char* field : {"number", "changes", "age_ms"}) {
    CAPTURE(field);
    const std::int64_t least = field == "number"s ? 1 : 0;
    const std::int64_t most = field == "age_ms"s ? 1'000'000'000'000 : limits::kRecordCountMax;
    CHECK_FALSE(refusal_with({{field, least}}));
    CHECK_FALSE(refusal_with({{field, most}}));
    CHECK(field_with({{field, least - 1}}) == field);
    CHECK(field_with({{field, most + 1}}) == field);
  }
}

TEST_CASE("a variable's name has a byte at least, so many at most, and no zero byte") {
  CHECK_FALSE(refusal_with({{"variable", std::string(limits::kVariableNameBytesMax, 'v')}}));
  CHECK_FALSE(refusal_with({{"variable", "a$b@c[[1]] …"}}));
  CHECK(field_with({{"variable", std::string(limits::kVariableNameBytesMax + 1, 'v')}}) == "variable");
  CHECK(field_with({{"variable", ""}}) == "variable");
  CHECK(field_with({{"variable", "a\0b"s}}) == "variable");
}

TEST_CASE("a value that comes with its record is accepted at its limit and refused one past it") {
  const auto sized = [](std::size_t bytes) { return json{{"base64", base64_of(std::string(bytes, '\0'))}}; };
  CHECK_FALSE(refusal_with(sized(0)));
  CHECK_FALSE(refusal_with(sized(limits::kRecordInlineBytesMax)));
  CHECK(field_with(sized(limits::kRecordInlineBytesMax + 1)) == "base64");
  for (const char* bad : {"x", "eA=", "eA", "e A=", "====", "eA==\n"}) {
    CAPTURE(bad);
    CHECK(field_with({{"base64", bad}}) == "base64");
  }
}

TEST_CASE("a value is either here or in so many chunks at most, each with a name") {
  const std::string name(64, 'a');
  const auto large = [&](const json& chunks, const json& size = 5) {
    return json{{"base64", nullptr}, {"size", size}, {"chunks", chunks}};
  };
  CHECK_FALSE(refusal_with(large(json(limits::kRecordChunksMax, name))));
  CHECK(field_with(large(json(limits::kRecordChunksMax + 1, name))) == "chunks");
  CHECK(field_with(large(json::array())) == "chunks");
  CHECK(field_with(large({name}, -1)) == "size");
  CHECK(field_with(large({name}, nullptr)) == "base64");
  CHECK(field_with(large({std::string(63, 'a')})) == "chunks");
  CHECK(field_with(large({std::string(64, 'A')})) == "chunks");
  CHECK(field_with({{"size", 1}, {"chunks", {name}}}) == "base64");
  CHECK(field_with({{"base64", nullptr}}) == "base64");
}

TEST_CASE("each kind has its own fields and no others") {
  CHECK(field_with({{"kind", "gone"}}) == "kind");
  CHECK(field_with({{"kind", "removed"}}) == "base64");
  CHECK_FALSE(refusal_with({{"kind", "removed"}, {"base64", nullptr}}));
  CHECK(field_with({{"kind", "removed"}, {"base64", nullptr}, {"words", "w"}}) == "words");
  const auto problem = [](const json& words) {
    return json{{"kind", "problem"}, {"base64", nullptr}, {"words", words}};
  };
  CHECK_FALSE(refusal_with(problem(std::string(limits::kMessageTextBytesMax, 'w'))));
  CHECK(field_with(problem(std::string(limits::kMessageTextBytesMax + 1, 'w'))) == "words");
  CHECK(field_with(problem(nullptr)) == "words");
  CHECK(field_with(problem("")) == "words");
  CHECK(field_with(problem("a\0b"s)) == "words");
  CHECK(field_with({{"words", "w"}}) == "words");
  auto with_size = problem("w");
  with_size["size"] = 1;
  with_size["chunks"] = {std::string(64, 'a')};
  CHECK(field_with(with_size) == "chunks");
}

TEST_CASE("changes of records that become one are added up, unless one is not known") {
  CHECK(changes_together(2, 3) == 5);
  CHECK(changes_together(0, 3) == 0);
  CHECK(changes_together(2, 0) == 0);
}

}  // namespace remotist::protocol
