#include <doctest/doctest.h>

#include "core/digest.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/protocol.h"

namespace remotist::protocol {
namespace {

using nlohmann::json;
using namespace std::string_literals;

constexpr std::string_view kOutcomeJob = "01941f29-7c00-7aaa-8bbb-0123456789ab";

json failed_outcome() {
  return {{"type", "outcome"},   {"seq", 1},    {"job", kOutcomeJob},       {"attempt", 1}, {"token", "t"},
          {"outcome", "failed"}, {"cpu_ms", 1}, {"failure_code", "r_error"}};
}

// What the reader says to an outcome with another value in it.
std::optional<Refusal> refusal_with(const char* field, const json& value) {
  json message = failed_outcome();
  message[field] = value;
  const auto frame = read_from_agent(message.dump());
  return frame ? std::optional<Refusal>{} : std::optional{frame.refusal()};
}

}  // namespace

TEST_CASE("every outcome that agents may send is read and written by its name, and no other is accepted") {
  for (const auto& row : outcome_table()) {
    CAPTURE(row.name);
    Outcome outcome{{{JobId::parse(kOutcomeJob).value(), 1}, "t"}, row.outcome};
    if (row.outcome == AttemptOutcome::failed) outcome.failure_code = FailureCode::r_error;
    const auto again = read_from_agent(text_of(Frame<FromAgent>{1, 0, outcome}));
    REQUIRE(again.ok() == row.recorded_as.has_value());
    if (again) {
      CHECK(std::get<Outcome>(again->body).kind == row.outcome);
    } else {
      CHECK(again.refusal().field == "outcome");
    }
  }
  const auto refusal = refusal_with("outcome", "finished").value();
  CHECK(refusal.field == "outcome");
  CHECK(refusal.detail.starts_with("outcome must be completed, failed, "));
  for (const auto& row : outcome_table()) {
    CAPTURE(row.name);
    CHECK(refusal.detail.contains(row.name) == row.recorded_as.has_value());
  }
}

TEST_CASE("every failure code of agents is read and written by its name, and no other is accepted") {
  for (const auto& row : failure_table()) {
    CAPTURE(row.name);
    const Outcome outcome{.attempt = {{JobId::parse(kOutcomeJob).value(), 1}, "t"},
                          .kind = AttemptOutcome::failed,
                          .failure_code = row.code};
    const auto again = read_from_agent(text_of(Frame<FromAgent>{1, 0, outcome}));
    REQUIRE(again.ok() == (row.source == FailureSource::agent));
    if (again) CHECK(std::get<Outcome>(again->body).failure_code == row.code);
  }
  for (const char* code : {"lost_too_often", "script_error", "R error", "completed", "r_error "}) {
    CAPTURE(code);
    const auto refusal = refusal_with("failure_code", code).value();
    CHECK(refusal.field == "failure_code");
    CHECK(refusal.detail.starts_with("failure_code must be one of r_error, killed, "));
    CHECK_FALSE(refusal.detail.contains("lost_too_often"));
    json message = failed_outcome();
    message["failure_code"] = code;
    CHECK(read_malformed(message.dump()));
  }
}

TEST_CASE("an outcome's files are accepted up to their number and their sum, and refused one past them") {
  auto file = [path = 0](std::size_t bytes) mutable {
    return json{{"role", "files"},
                {"path", std::to_string(++path)},
                {"base64", base64_of(std::string(bytes, '\xff'))}};
  };
  json most = json::array();
  for (std::size_t i = 0; i < limits::kOutcomeFilesMax; ++i) most.push_back(file(1));
  CHECK_FALSE(refusal_with("files", most));
  most.push_back(file(1));
  CHECK(refusal_with("files", most).value().field == "files");
  const json half = file(limits::kOutcomeBytesMax / 2);
  const json other_half = file(limits::kOutcomeBytesMax / 2);
  CHECK_FALSE(refusal_with("files", json::array({half, other_half})));
  CHECK(refusal_with("files", json::array({half, other_half, file(1)})).value().field == "files");
  CHECK_FALSE(refusal_with("files", json::array({file(limits::kOutcomeBytesMax)})));
  CHECK(refusal_with("files", json::array({file(limits::kOutcomeBytesMax + 1)})).value().field == "files");
  const json text{
      {"role", "log"}, {"path", "p"}, {"text", std::string(limits::kOutcomeBytesMax / 2 + 1, 'x')}};
  CHECK(refusal_with("files", json::array({half, text})).value().field == "files");
}

TEST_CASE("a file has either text or base64, and base64 is whole") {
  const auto with = [](json file) {
    file["path"] = "p";
    if (!file.contains("role")) file["role"] = "output";
    return refusal_with("files", json::array({file}));
  };
  for (const char* role : {"output", "files", "log", "error"})
    CHECK_FALSE(with({{"role", role}, {"text", "x"}}));
  for (const char* role : {"", "code", "data", "Output"})
    CHECK(with({{"role", role}, {"text", "x"}}).value().field == "role");
  CHECK(with({{"text", "x"}, {"base64", "eA=="}}).value().field == "files");
  CHECK(with({{"text", ""}, {"base64", ""}}).value().field == "files");
  CHECK(with(json::object()).value().field == "files");
  for (const char* base64 : {"e", "eA", "eA=", "eA===", "eB==", "eA==eA==", "eA ==", "eA==\n", "e-_=", "…"}) {
    CAPTURE(base64);
    CHECK(with({{"base64", base64}}).value().field == "base64");
  }
  json message = failed_outcome();
  message["files"] = {{{"role", "log"}, {"path", "p"}, {"text", "a\0ü\n"s}}};
  const auto outcome = read_from_agent(message.dump());
  REQUIRE(outcome.ok());
  CHECK(std::get<Outcome>(outcome->body).files[0].bytes == "a\0ü\n"s);
}

TEST_CASE("failed has a failure code, and no other outcome has one") {
  CHECK(refusal_with("failure_code", "").value().field == "failure_code");
  CHECK(refusal_with("failure_code", nullptr).value().field == "failure_code");
  for (const char* other : {"completed", "cancelled", "handed_back"}) {
    CHECK(refusal_with("outcome", other).value().field == "failure_code");
  }
}

TEST_CASE("a failure's detail has no zero byte: the database could not hold it") {
  CHECK_FALSE(refusal_with("failure_detail", "x"));
  CHECK(refusal_with("failure_detail", "a\0b"s).value().field == "failure_detail");
}

TEST_CASE("an outcome's files have acceptable paths and can stand in one folder") {
  const auto refused = [](const std::vector<std::pair<std::string, std::string>>& files) {
    json list = json::array();
    for (const auto& [role, path] : files) list.push_back({{"role", role}, {"path", path}, {"text", "x"}});
    const auto refusal = refusal_with("files", list);
    return refusal ? refusal->field : "";
  };
  CHECK(refused({{"files", "a/b"}, {"files", "c"}, {"output", "c"}, {"log", "c/d"}}).empty());
  for (const char* path : {"", "/a", "../../etc/passwd", "a\\b", "a\nb", "a//b"})
    CHECK(refused({{"files", path}}) == "path");
  CHECK(refused({{"files", "a"}, {"files", "a"}}) == "path");
  CHECK(refused({{"files", "a"}, {"files", "a/b"}}) == "path");
  CHECK(refused({{"files", "a/b"}, {"files", "a"}}) == "path");
}

TEST_CASE("a message whose content is malformed still says of which attempt it is") {
  json message = failed_outcome();
  message["failure_detail"] = "zero \0 byte"s;
  message["seq"] = 7;
  message["ack"] = 3;
  message["cpu_ms"] = 1234;
  REQUIRE_FALSE(read_from_agent(message.dump()).ok());
  const auto malformed = read_malformed(message.dump());
  REQUIRE(malformed);
  CHECK(malformed->number == 7);
  CHECK(malformed->ack == 3);
  CHECK(malformed->body.attempt.name.job.text() == kOutcomeJob);
  CHECK(malformed->body.attempt.name.number == 1);
  CHECK(malformed->body.attempt.token == "t");
  CHECK(malformed->body.cpu_ms == 1234);
  for (const json& cpu_ms : {json(-1), json("much"), json(1e300), json(nullptr)}) {
    message["cpu_ms"] = cpu_ms;
    REQUIRE(read_malformed(message.dump()));
    CHECK_FALSE(read_malformed(message.dump())->body.cpu_ms);
  }
  for (const char* type : {"progress", "watched_records"}) {
    message["type"] = type;
    CHECK(read_malformed(message.dump()));
  }
}

TEST_CASE("what does not say of which attempt it is, or is no message, is broken") {
  const auto broken_with = [](const char* field, const json& value) {
    json message = failed_outcome();
    message["failure_detail"] = "\0"s;
    message[field] = value;
    return !read_malformed(message.dump());
  };
  REQUIRE_FALSE(broken_with("failure_detail", "\0"s));
  for (const char* type : {"hello", "accept", "beat", "goodbye", "renew", "ack", "unknown", ""})
    CHECK(broken_with("type", type));
  CHECK(broken_with("type", 1));
  CHECK(broken_with("seq", 0));
  CHECK(broken_with("seq", "1"));
  CHECK(broken_with("seq", nullptr));
  CHECK(broken_with("ack", -1));
  CHECK(broken_with("ack", "1"));
  CHECK(broken_with("job", "somewhere"));
  CHECK(broken_with("attempt", 0));
  CHECK(broken_with("token", ""));
  CHECK(broken_with("token", std::string(limits::kAttemptTokenBytesMax + 1, 't')));
  CHECK_FALSE(read_malformed("not JSON"));
  CHECK_FALSE(read_malformed("[]"));
  CHECK_FALSE(read_malformed(std::string(limits::kFrameBytesMax + 1, ' ')));
}

}  // namespace remotist::protocol
