#include "core/protocol.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <set>

#include "core/json.h"
#include "core/limits.h"

namespace remotist::protocol {
namespace {

using nlohmann::json;
using namespace std::string_literals;

constexpr std::string_view kJob = "01941f29-7c00-7aaa-8bbb-0123456789ab";
constexpr std::string_view kOther = "01941f29-7c00-7aaa-8bbb-0123456789ac";

AttemptName name(std::string_view job, int number) {
  return {JobId::parse(job).value(), number};
}

AttemptKey key(std::string_view job, int number, const char* token) {
  return {name(job, number), token};
}

// The text with whole values in place of JOB, OTHER, KEY and KEYS.
std::string filled(std::string text) {
  const std::pair<std::string_view, std::string_view> values[]{
      {"KEYS", R"([{KEY}, {"job": "OTHER", "attempt": 4, "token": "t4"}])"},
      {"KEY", R"("job": "JOB", "attempt": 3, "token": "t3")"},
      {"JOB", kJob},
      {"OTHER", kOther}};
  for (const auto& [word, value] : values) {
    for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos;)
      text.replace(at, word.size(), value);
  }
  return text;
}

// A message in C++ and on the wire. Every value in it is another one, so that none can stand for its
// neighbour.
template <class Body>
struct Example {
  Frame<Body> frame;
  const char* wire;
};

std::vector<Example<FromAgent>> from_agent() {
  const auto keys = std::vector{key(kJob, 3, "t3"), key(kOther, 4, "t4")};
  return {
      {{1, 0, Hello{{1, 2}, "agent 1.0", false, keys, "4.5.0", "x86_64", {"MASS 7.3-65", "nnet 7.3-20"}}},
       R"({"type": "hello", "seq": 1, "protocols": [1, 2], "software": "agent 1.0", "taking_jobs": false,
           "attempts": KEYS, "r_version": "4.5.0", "architecture": "x86_64",
           "packages": ["MASS 7.3-65", "nnet 7.3-20"]})"},
      {{5, 2, Accept{keys}}, R"({"type": "accept", "seq": 5, "ack": 2, "attempts": KEYS})"},
      {{6, 3, Refuse{keys, "the disk is full …"}},
       R"({"type": "refuse", "seq": 6, "ack": 3, "reason": "the disk is full …", "attempts": KEYS})"},
      {{7, 8, Beat{false, true, 0.97, 812, 40.5, 3.25, {{name(kJob, 3), 81234}, {name(kOther, 4), 5}}}},
       R"({"type": "beat", "seq": 7, "ack": 8, "taking_jobs": false, "user_present": true, "cpu_used": 0.97,
           "ram_mb_used": 812.0, "disc_mb_used": 40.5, "network_kb_per_s": 3.25, "attempts": [
             {"job": "JOB", "attempt": 3, "cpu_ms": 81234}, {"job": "OTHER", "attempt": 4, "cpu_ms": 5}]})"},
      {{8, 9, Progress{key(kJob, 3, "t3"), 0.25, "chain 1 of 4"}},
       R"({"type": "progress", "seq": 8, "ack": 9, "fraction": 0.25, "message": "chain 1 of 4", KEY})"},
      {{8, 9,
        WatchedRecords{
            key(kJob, 3, "t3"),
            {{.variable = "fit$loss", .number = 7, .changes = 2, .age_ms = 12, .bytes = "\0\1\2\xff"s},
             {.variable = "x[[1]]",
              .number = 8,
              .changes = 0,
              .age_ms = 13,
              .size = 1048577,
              .chunks = {std::string(64, 'a'), std::string(64, 'b')}},
             {.variable = "tmp", .number = 9, .changes = 3, .age_ms = 14, .kind = WatchedKind::removed},
             {.variable = "f",
              .number = 10,
              .changes = 4,
              .age_ms = 15,
              .kind = WatchedKind::problem,
              .words = "a function"}}}},
       R"({"type": "watched_records", "seq": 8, "ack": 9, KEY, "records": [
             {"variable": "fit$loss", "number": 7, "changes": 2, "age_ms": 12, "kind": "value", "base64": "AAEC/w=="},
             {"variable": "x[[1]]", "number": 8, "changes": 0, "age_ms": 13, "kind": "value", "size": 1048577,
              "chunks": ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
                         "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"]},
             {"variable": "tmp", "number": 9, "changes": 3, "age_ms": 14, "kind": "removed"},
             {"variable": "f", "number": 10, "changes": 4, "age_ms": 15, "kind": "problem", "words": "a function"}]})"},
      {{9, 10,
        Outcome{.attempt = key(kJob, 3, "t3"),
                .kind = AttemptOutcome::failed,
                .cpu_ms = 90321,
                .failure_code = FailureCode::r_error,
                .failure_detail = "Error in f: x",
                .files = {{"output", "result.rds", "\0\1\2\xff"s}, {"log", "log.txt", ""}}}},
       R"({"type": "outcome", "seq": 9, "ack": 10, KEY, "outcome": "failed", "cpu_ms": 90321,
           "failure_code": "r_error", "failure_detail": "Error in f: x",
           "files": [{"role": "output", "path": "result.rds", "base64": "AAEC/w=="},
                     {"role": "log", "path": "log.txt", "base64": ""}]})"},
      {{10, 11, Goodbye{"shutting down", keys}},
       R"({"type": "goodbye", "seq": 10, "ack": 11, "reason": "shutting down", "attempts": KEYS})"},
      {{11, 12, Renew{}}, R"({"type": "renew", "seq": 11, "ack": 12})"},
      {{0, INT64_MAX, Ack{}}, R"({"type": "ack", "ack": 9223372036854775807})"},
  };
}

std::vector<Example<FromMarket>> from_market() {
  const auto session = MachineSessionId::parse(kOther).value();
  return {
      {{1, 2, Welcome{1, session, 10000, 30000, {name(kJob, 3)}, {name(kOther, 4), name(kJob, 5)}}},
       R"({"type": "welcome", "seq": 1, "ack": 2, "protocol": 1, "machine_session": "OTHER", "beat_ms": 10000,
           "lease_ms": 30000, "keep": [{"job": "JOB", "attempt": 3}],
           "stop": [{"job": "OTHER", "attempt": 4}, {"job": "JOB", "attempt": 5}]})"},
      {{2, 3,
        Assign{{{key(kJob, 4, "t4"),
                 "main.R",
                 1,
                 2048,
                 1024,
                 36000,
                 "2026-02-01T00:00:00.000Z",
                 {"x", "y"},
                 {{"main.R", "x <- 1"}, {"a/b", ""}},
                 RequestId::parse(kOther),
                 true,
                 true,
                 86'400'000},
                {key(kOther, 5, "t5"), "b.R", 2, 3, 4, std::nullopt, std::nullopt, {}}}}},
       R"({"type": "assign", "seq": 2, "ack": 3, "jobs": [
             {"job": "JOB", "attempt": 4, "token": "t4", "exec_file": "main.R", "cpu_cores": 1, "ram_mb": 2048,
              "disc_mb": 1024, "cpu_ms_max": 36000, "deadline": "2026-02-01T00:00:00.000Z",
              "watched_variables": ["x", "y"], "request_id": "OTHER", "resumable": true, "resume": true,
              "loss_ms_mean": 86400000,
              "files": [{"path": "main.R", "base64": "eCA8LSAx"}, {"path": "a/b", "base64": ""}]},
             {"job": "OTHER", "attempt": 5, "token": "t5", "exec_file": "b.R", "cpu_cores": 2, "ram_mb": 3,
              "disc_mb": 4}]})"},
      {{3, 4, Stop{{name(kJob, 3), name(kOther, 4)}, "cancelled"}},
       R"({"type": "stop", "seq": 3, "ack": 4, "reason": "cancelled",
           "attempts": [{"job": "JOB", "attempt": 3}, {"job": "OTHER", "attempt": 4}]})"},
      {{3, 4, HandOver{{name(kJob, 3), name(kOther, 4)}, "its owner moves it"}},
       R"({"type": "hand_over", "seq": 3, "ack": 4, "reason": "its owner moves it",
           "attempts": [{"job": "JOB", "attempt": 3}, {"job": "OTHER", "attempt": 4}]})"},
      {{4, 5, Token{"remotist_machine_x", "2026-02-01T00:00:00.000Z"}},
       R"({"type": "token", "seq": 4, "ack": 5, "token": "remotist_machine_x",
           "expires_at": "2026-02-01T00:00:00.000Z"})"},
      {{5, 6, Problem{9, "quota_exceeded", "no room", name(kJob, 3)}},
       R"({"type": "problem", "seq": 5, "ack": 6, "re": 9, "code": "quota_exceeded", "detail": "no room",
           "job": "JOB", "attempt": 3})"},
      {{0, 7, Ack{}}, R"({"type": "ack", "ack": 7})"},
  };
}

auto read(bool agent, const std::string& text) {
  const auto refusal_of = [](const auto& frame) {
    return frame ? std::optional<Refusal>{} : std::optional{frame.refusal()};
  };
  return agent ? refusal_of(read_from_agent(text)) : refusal_of(read_from_market(text));
}

// Runs `check` with whether the agent sends it and with the text of each example.
template <class Check>
void for_each_example(Check check) {
  for (const auto& each : from_agent()) check(true, json::parse(filled(each.wire)));
  for (const auto& each : from_market()) check(false, json::parse(filled(each.wire)));
}

// Every value in a message, also those that have values in them.
std::vector<json::json_pointer> places_in(const json& message) {
  std::set<std::string> found;
  const json flat = message.flatten();
  for (const auto& [pointer, value] : flat.items()) {
    for (json::json_pointer at{pointer}; !at.empty(); at.pop_back()) found.insert(at.to_string());
  }
  std::vector<json::json_pointer> places;
  for (const auto& pointer : found) places.emplace_back(pointer);
  return places;
}

json example(std::string_view type) {
  json found;
  for_each_example([&](bool, const json& message) {
    if (message["type"] == type) found = message;
  });
  return found;
}

// What the reader says to an example with another value in it.
std::optional<Refusal> refusal_with(std::string_view type, const char* pointer, const json& value) {
  json message = example(type);
  message[json::json_pointer{pointer}] = value;
  const bool from_market =
      type == "welcome" || type == "assign" || type == "stop" || type == "hand_over" || type == "problem";
  return read(!from_market, message.dump());
}

}  // namespace

// What was written is what the table says, and what is read from the table is written as the same: so reading
// and writing agree with it in every field.
TEST_CASE_TEMPLATE("each message is written as documented and read back equal", Body, FromAgent, FromMarket) {
  const auto check = [](const auto& examples, auto read_back) {
    std::set<std::size_t> types;
    for (const auto& [frame, wire] : examples) {
      const std::string text = filled(wire);
      CAPTURE(text);
      CHECK(json::parse(text_of(frame)) == json::parse(text));
      const auto again = read_back(text);
      REQUIRE(again.ok());
      CHECK(again->number == frame.number);
      CHECK(again->ack == frame.ack);
      CHECK(again->body.index() == frame.body.index());
      CHECK(text_of(*again) == text_of(frame));
      types.insert(frame.body.index());
    }
    CHECK(types.size() == std::variant_size_v<Body>);
  };
  if constexpr (std::is_same_v<Body, FromAgent>) {
    check(from_agent(), [](const std::string& text) { return read_from_agent(text); });
  } else {
    check(from_market(), [](const std::string& text) { return read_from_market(text); });
  }
}

TEST_CASE("text that is not UTF-8 is written as text that can be read") {
  const auto read_back = read_from_agent(text_of(Frame<FromAgent>{1, 0, Goodbye{"caf\xe9", {}}}));
  REQUIRE(read_back.ok());
  CHECK(std::get<Goodbye>(read_back->body).reason == "caf\xef\xbf\xbd");
}

TEST_CASE("a message of the other side is refused, except ack") {
  for_each_example([](bool agent, const json& message) {
    CAPTURE(message);
    const auto refusal = read(!agent, message.dump());
    CHECK((message["type"] == "ack") == !refusal);
    if (refusal) CHECK(refusal->field == "type");
  });
}

TEST_CASE("an unknown type is named as what is wrong, whatever else the message has") {
  CHECK(read(true, R"({"type":"unknown","seq":1,"attempts":[]})").value().field == "type");
  CHECK(read(true, R"({"type":"Hello","seq":1})").value().field == "type");
  CHECK(read(true, R"({"type":"","seq":1})").value().field == "type");
  CHECK(read(true, R"({"type":7,"seq":1})").value().field == "type");
  CHECK(read(true, R"({"seq":1})").value().field == "type");
  CHECK(read(true, "{}").value().field == "type");
}

TEST_CASE("what is not one JSON object is refused") {
  for (const char* text :
       {"", " ", "null", "[]", "7", R"("renew")", R"({"type":"renew","seq":1)",
        R"({"type":"renew","seq":1}{})", "{\"type\":\"goodbye\",\"seq\":1,\"reason\":\"\xff\"}"}) {
    CAPTURE(text);
    CHECK(read(true, text).value().code == Code::malformed_request);
    CHECK(read(false, text).value().code == Code::malformed_request);
  }
}

TEST_CASE("messages are counted from 1, and an ack alone is not counted") {
  CHECK(read(true, R"({"type":"renew"})").value().field == "seq");
  CHECK(read(true, R"({"type":"renew","seq":0})").value().field == "seq");
  CHECK(read(true, R"({"type":"renew","seq":-1})").value().field == "seq");
  CHECK(read(true, R"({"type":"renew","seq":9223372036854775808})").value().field == "seq");
  CHECK(read(true, R"({"type":"renew","seq":1,"ack":-1})").value().field == "ack");
  CHECK(read_from_agent(R"({"type":"renew","seq":9223372036854775807})").ok());
  for (const char* seq : {"0", "1", "-1"}) {
    const auto text = R"({"type":"ack","ack":3,"seq":)"s + seq + "}";
    CHECK(read(true, text).value().field == "seq");
    CHECK(read(false, text).value().field == "seq");
  }
  CHECK(read(false, R"({"type":"ack","ack":-3})").value().field == "ack");
}

TEST_CASE("a field that nobody knows is refused in every object of every message") {
  for_each_example([](bool agent, const json& message) {
    auto places = places_in(message);
    places.emplace_back("");
    for (const auto& at : places) {
      if (!message[at].is_object()) continue;
      json changed = message;
      changed[at]["extra"] = 1;
      CAPTURE(changed);
      const auto refusal = read(agent, changed.dump());
      REQUIRE(refusal);
      CHECK(refusal->field.ends_with("extra"));
    }
  });
}

TEST_CASE("only these fields may be left out") {
  const std::string optional =
      " ack protocols software taking_jobs attempts reason user_present cpu_used ram_mb_used disc_mb_used "
      "network_kb_per_s fraction message failure_detail files keep stop jobs cpu_ms_max deadline "
      "watched_variables request_id detail r_version architecture packages resumable resume loss_ms_mean ";
  for_each_example([&](bool agent, const json& message) {
    for (const auto& at : places_in(message)) {
      if (!message[at.parent_pointer()].is_object()) continue;
      json changed = message;
      changed[at.parent_pointer()].erase(at.back());
      CAPTURE(changed);
      CHECK(read(agent, changed.dump()).has_value() == !optional.contains(" " + at.back() + " "));
    }
  });
}

TEST_CASE("a value of the wrong type is refused wherever it stands") {
  const json values{"text", true, 1.5, 7, json::array(), json::object(), json::array({json::array()})};
  const auto fits = [](const json& place, const json& value) {
    if (place.is_number_float()) return value.is_number();
    if (place.is_number_integer()) return value.is_number_integer();
    return place.type() == value.type() && !(value.is_array() && !value.empty());
  };
  for_each_example([&](bool agent, const json& message) {
    for (const auto& at : places_in(message)) {
      for (const auto& value : values) {
        if (fits(message[at], value)) continue;
        json changed = message;
        changed[at] = value;
        CAPTURE(changed);
        CHECK(read(agent, changed.dump()));
      }
    }
  });
}

TEST_CASE("what is no job's id is refused, and an id in capitals is the same id") {
  const std::string id{kJob};
  for (const auto& wrong : {""s, "x"s, id.substr(1), id + "0", " " + id.substr(1), "{" + id + "}",
                            "urn:uuid:" + id, "g" + id.substr(1), "01941f297c007aaa8bbb0123456789ab"s,
                            id + "\0"s, "01941f29-7c00-7aaa-8bbb_0123456789ab"s}) {
    CAPTURE(wrong);
    for (const char* pointer : {"/attempts/0/job", "/attempts/1/job"})
      CHECK(refusal_with("accept", pointer, wrong));
    CHECK(refusal_with("progress", "/job", wrong).value().field == "job");
    CHECK(refusal_with("beat", "/attempts/1/job", wrong));
    CHECK(refusal_with("problem", "/job", wrong));
    CHECK(refusal_with("assign", "/jobs/0/request_id", wrong).value().field == "request_id");
    CHECK(refusal_with("welcome", "/machine_session", wrong).value().field == "machine_session");
  }
  json message = example("progress");
  message["job"] = "01941F29-7C00-7AAA-8BBB-0123456789AB";
  const auto progress = read_from_agent(message.dump());
  REQUIRE(progress.ok());
  CHECK(std::get<Progress>(progress->body).attempt.name.job.text() == kJob);
}

TEST_CASE("numbers are accepted at their limits and refused past them") {
  struct Range {
    const char* type;
    const char* pointer;
    json least, most, below, above;
  };
  const Range ranges[]{
      {"accept", "/attempts/0/attempt", 1, INT32_MAX, 0, INT32_MAX + 1LL},
      {"hello", "/protocols/0", 1, INT64_MAX, 0, UINT64_MAX},
      {"beat", "/attempts/1/cpu_ms", 0, 1'000'000'000'000, -1, 1'000'000'000'001},
      {"beat", "/cpu_used", 0, 1e12, -1e-9, 1.000001e12},
      {"beat", "/ram_mb_used", 0, 1e12, -1, 1e300},
      {"beat", "/disc_mb_used", 5e-324, 1e12, -1, INT64_MAX},
      {"beat", "/network_kb_per_s", 0, 1e12, INT64_MIN, UINT64_MAX},
      {"progress", "/fraction", 0, 1, -0.001, 1.001},
      {"outcome", "/cpu_ms", 0, 1'000'000'000'000, -1, 1'000'000'000'001},
      {"assign", "/jobs/0/cpu_cores", 1, limits::kCpuCoresMax, 0, limits::kCpuCoresMax + 1},
      {"assign", "/jobs/0/ram_mb", 1, limits::kRamMbMax, 0, limits::kRamMbMax + 1},
      {"assign", "/jobs/0/disc_mb", 1, limits::kDiscMbMax, 0, limits::kDiscMbMax + 1},
      {"assign", "/jobs/0/loss_ms_mean", 1, 1'000'000'000'000, 0, 1'000'000'000'001},
      {"welcome", "/beat_ms", 1, INT32_MAX, 0, INT32_MAX + 1LL},
      {"welcome", "/lease_ms", 1, INT32_MAX, 0, INT32_MAX + 1LL},
      {"welcome", "/protocol", 1, INT32_MAX, 0, INT32_MAX + 1LL},
      {"problem", "/re", 0, INT64_MAX, -1, UINT64_MAX},
  };
  for (const auto& range : ranges) {
    CAPTURE(range.pointer);
    CHECK_FALSE(refusal_with(range.type, range.pointer, range.least));
    CHECK_FALSE(refusal_with(range.type, range.pointer, range.most));
    CHECK(refusal_with(range.type, range.pointer, range.below).value().code == Code::invalid_field);
    CHECK(refusal_with(range.type, range.pointer, range.above).value().code == Code::invalid_field);
  }
  for (const char* number :
       {"NaN", "nan", "Infinity", "-Infinity", "1e999", "-1e999", "0x10", "01", "+1", ".5", "1."}) {
    CAPTURE(number);
    CHECK(read(true, R"({"type":"beat","seq":1,"cpu_used":)"s + number + "}").value().code ==
          Code::malformed_request);
    CHECK(read(true, R"({"type":"renew","seq":)"s + number + "}").value().code == Code::malformed_request);
  }
}

TEST_CASE("lists are accepted at their limits and refused one past them") {
  const std::pair<const char*, const char*> lists[]{
      {"hello", "/attempts"},   {"accept", "/attempts"},   {"refuse", "/attempts"}, {"beat", "/attempts"},
      {"goodbye", "/attempts"}, {"welcome", "/keep"},      {"welcome", "/stop"},    {"assign", "/jobs"},
      {"stop", "/attempts"},    {"hand_over", "/attempts"}};
  for (const auto& [type, pointer] : lists) {
    CAPTURE(type);
    const json list(limits::kFrameAttemptsMax, example(type)[json::json_pointer{pointer}].back());
    json longer = list;
    longer.push_back(list[0]);
    CHECK_FALSE(refusal_with(type, pointer, list));
    CHECK(refusal_with(type, pointer, longer).value().field == pointer + 1);
  }
  CHECK_FALSE(refusal_with("hello", "/protocols", json(limits::kProtocolsMax, 1)));
  CHECK(refusal_with("hello", "/protocols", json(limits::kProtocolsMax + 1, 1)).value().field == "protocols");
  CHECK_FALSE(refusal_with("hello", "/packages", json(limits::kPackagesMax, "MASS 7.3-65")));
  CHECK(refusal_with("hello", "/packages", json(limits::kPackagesMax + 1, "p 1")).value().field ==
        "packages");
}

TEST_CASE("texts are accepted at their limits, counted in bytes, and refused one past them") {
  const auto check = [](const char* type, const char* pointer, std::size_t most) {
    CAPTURE(pointer);
    std::string wide(most % 3, 'x');
    for (std::size_t i = 0; i < most / 3; ++i) wide += "…";
    CHECK_FALSE(refusal_with(type, pointer, std::string(most, 'x')));
    CHECK_FALSE(refusal_with(type, pointer, wide));
    CHECK(refusal_with(type, pointer, std::string(most + 1, 'x')).value().code == Code::invalid_field);
    CHECK(refusal_with(type, pointer, wide + "x").value().code == Code::invalid_field);
  };
  check("refuse", "/reason", limits::kMessageTextBytesMax);
  check("goodbye", "/reason", limits::kMessageTextBytesMax);
  check("progress", "/message", limits::kMessageTextBytesMax);
  check("outcome", "/failure_detail", limits::kFailureDetailBytesMax);
  check("hello", "/software", limits::kSoftwareBytesMax);
  check("hello", "/r_version", limits::kRVersionBytesMax);
  check("hello", "/architecture", limits::kArchitectureBytesMax);
  check("hello", "/packages/1", limits::kPackageBytesMax);
  CHECK(refusal_with("hello", "/packages/1", "").value().field == "packages");
  CHECK(refusal_with("hello", "/packages/1", "p\0 1"s).value().field == "packages");
  check("progress", "/token", limits::kAttemptTokenBytesMax);
  check("accept", "/attempts/1/token", limits::kAttemptTokenBytesMax);
  CHECK(refusal_with("progress", "/token", "").value().field == "token");
}

TEST_CASE("a message is accepted at the limit of a frame and refused one past it") {
  const std::string text = R"({"type":"renew","seq":1)";
  const std::string at = text + std::string(limits::kFrameBytesMax - text.size() - 1, ' ') + "}";
  CHECK_FALSE(read(true, at));
  CHECK(read(true, at + " ").value().code == Code::too_large);
  CHECK(read(false, at + " ").value().code == Code::too_large);
}

// The document is what others write their agents by: each example in it is read as it stands there, with
// whole values where it has an ellipsis.
}  // namespace remotist::protocol
