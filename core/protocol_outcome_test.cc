#include <doctest/doctest.h>

#include "core/digest.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/protocol.h"

namespace remotist::protocol {
namespace {

using nlohmann::json;
using namespace std::string_literals;

constexpr std::string_view kJob = "01941f29-7c00-7aaa-8bbb-0123456789ab";

json failed_outcome() {
  return {{"type", "outcome"}, {"seq", 1},
          {"job", kJob},       {"attempt", 1},
          {"token", "t"},      {"outcome", "failed"},
          {"cpu_ms", 1},       {"failure_code", "script_error"}};
}

// What the reader says to an outcome with another value in it.
std::optional<Refusal> refusal_with(const char* field, const json& value) {
  json message = failed_outcome();
  message[field] = value;
  const auto frame = read_from_agent(message.dump());
  return frame ? std::optional<Refusal>{} : std::optional{frame.refusal()};
}

}  // namespace

TEST_CASE("every kind of outcome is read and written by its name") {
  for (const auto kind :
       {OutcomeKind::completed, OutcomeKind::failed, OutcomeKind::cancelled, OutcomeKind::handed_back}) {
    Outcome outcome{{{JobId::parse(kJob).value(), 1}, "t"}, kind};
    if (kind == OutcomeKind::failed) outcome.failure_code = "script_error";
    const auto again = read_from_agent(text_of(Frame<FromAgent>{1, 0, outcome}));
    REQUIRE(again.ok());
    CHECK(std::get<Outcome>(again->body).kind == kind);
  }
  CHECK(refusal_with("outcome", "finished").value().field == "outcome");
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

TEST_CASE("a failure's code is a word, and no text has a zero byte: the database could not hold it") {
  const auto read = [](const std::string& fields) {
    return read_from_agent(
        R"({"type":"outcome","seq":1,"job":"01940000-0000-7000-8000-000000000000","attempt":1,)"
        R"("token":"t","outcome":"failed","cpu_ms":0,)" +
        fields + "}");
  };
  CHECK(read(R"("failure_code":"r_error_2","failure_detail":"x")").ok());
  CHECK(!read(R"("failure_code":"R error","failure_detail":"x")").ok());
  CHECK(!read(R"("failure_code":"r_error","failure_detail":"a\u0000b")").ok());
  CHECK_FALSE(refusal_with("failure_code", std::string(limits::kFailureCodeBytesMax, 'x')));
  CHECK(refusal_with("failure_code", std::string(limits::kFailureCodeBytesMax + 1, 'x')).value().field ==
        "failure_code");
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
  CHECK(malformed->body.attempt.name.job.text() == kJob);
  CHECK(malformed->body.attempt.name.number == 1);
  CHECK(malformed->body.attempt.token == "t");
  CHECK(malformed->body.cpu_ms == 1234);
  for (const json& cpu_ms : {json(-1), json("much"), json(1e300), json(nullptr)}) {
    message["cpu_ms"] = cpu_ms;
    REQUIRE(read_malformed(message.dump()));
    CHECK_FALSE(read_malformed(message.dump())->body.cpu_ms);
  }
  for (const char* type : {"progress", "partials"}) {
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
