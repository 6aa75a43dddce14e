#include "market/service/checkpoint_bodies.h"

#include <doctest/doctest.h>
#include <string>

#include "core/limits.h"

namespace remotist::market {
namespace {

using nlohmann::json;
using namespace std::string_literals;

json manifest() {
  const std::string chunk(64, 'a');
  return {{"number", 1},
          {"format", 3},
          {"r_version", "4.5.0"},
          {"architecture", "x86_64"},
          {"packages", {"MASS 7.3-65"}},
          {"state_bytes", 1},
          {"size_bytes", 2},
          {"sent_bytes", 3},
          {"pause_ms", 1.5},
          {"interval_ms", 4},
          {"attempt_cpu_ms", 5},
          {"age_ms", 6},
          {"position", {{"file", "main.R"}, {"line", 12}, {"call", "fit"}}},
          {"progress", {{"fraction", 0.5}, {"message", "half\nof it"}}},
          {"watched", {{"x", 57}}},
          {"log", chunk},
          {"log_left_out", 7},
          {"chunks", {chunk}}};
}

// The field that is refused when the value at this place is another one; empty: none.
std::string refused(const char* pointer, const json& value) {
  json changed = manifest();
  changed[json::json_pointer{pointer}] = value;
  const auto read = read_checkpoint_manifest(JsonBody::of(changed));
  if (read) return {};
  CHECK(read.refusal().code == Code::invalid_field);
  return read.refusal().field;
}

}  // namespace

TEST_CASE("a manifest is read with every field that it has, and without those that may be absent") {
  json said = manifest();
  auto read = read_checkpoint_manifest(JsonBody::of(said));
  REQUIRE(read.ok());
  CHECK(read->number == 1);
  CHECK(read->format == 3);
  CHECK(read->r_version == "4.5.0");
  CHECK(read->architecture == "x86_64");
  CHECK(read->packages == std::vector{"MASS 7.3-65"s});
  CHECK(read->state_bytes == 1);
  CHECK(read->size_bytes == 2);
  CHECK(read->sent_bytes == 3);
  CHECK(read->pause_ms == 1.5);
  CHECK(read->interval_ms == 4);
  CHECK(read->attempt_cpu_ms == 5);
  CHECK(read->age_ms == 6);
  CHECK(read->position.file == "main.R");
  CHECK(read->position.line == 12);
  CHECK(read->position.call == "fit");
  CHECK(read->progress->fraction == 0.5);
  CHECK(read->progress->message == "half\nof it");
  CHECK(read->watched.at("x") == 57);
  CHECK(read->log->hex() == std::string(64, 'a'));
  CHECK(read->log_left_out == 7);
  CHECK(read->chunks.size() == 1);
  for (const char* field : {"position", "progress", "watched", "log", "log_left_out"}) said.erase(field);
  read = read_checkpoint_manifest(JsonBody::of(said));
  REQUIRE(read.ok());
  CHECK_FALSE(read->progress);
  CHECK_FALSE(read->log);
  for (const auto& [field, value] : said.items()) {
    CAPTURE(field);
    json without = said;
    without.erase(field);
    CHECK_FALSE(read_checkpoint_manifest(JsonBody::of(without)).ok());
  }
}

TEST_CASE("numbers of a manifest are accepted at their limits and refused past them") {
  for (const char* field : {"/number", "/format"}) {
    CHECK(refused(field, 1).empty());
    CHECK(refused(field, INT32_MAX).empty());
    CHECK(refused(field, 0) == field + 1);
    CHECK(refused(field, INT32_MAX + 1LL) == field + 1);
  }
  for (const char* field : {"/state_bytes", "/size_bytes", "/sent_bytes", "/interval_ms", "/attempt_cpu_ms",
                            "/log_left_out", "/pause_ms"}) {
    CHECK(refused(field, 0).empty());
    CHECK(refused(field, 1'000'000'000).empty());
    CHECK(refused(field, limits::kCheckpointAmountMax).empty());
    CHECK(refused(field, limits::kCheckpointAmountMax + 1) == field + 1);
    CHECK(refused(field, -1) == field + 1);
    CHECK(refused(field, "1") == field + 1);
  }
  CHECK(refused("/age_ms", limits::kRecordAgeMsMax).empty());
  CHECK(refused("/age_ms", limits::kRecordAgeMsMax + 1) == "age_ms");
  CHECK(refused("/position/line", INT32_MAX).empty());
  CHECK(refused("/position/line", INT32_MAX + 1LL) == "position.line");
  CHECK(refused("/progress/fraction", 1).empty());
  CHECK(refused("/progress/fraction", 1.001) == "progress.fraction");
  CHECK(refused("/watched", {{"x", limits::kRecordCountMax}, {"y", 0}}).empty());
  CHECK(refused("/watched", {{"x", limits::kRecordCountMax + 1}}) == "watched");
  CHECK(refused("/watched", {{"x", -1}}) == "watched");
  CHECK(refused("/watched", {{"x", 1.5}}) == "watched");
  CHECK(refused("/watched", {{"x", UINT64_MAX}}) == "watched");
  CHECK(refused("/watched", {1}) == "watched");
}

TEST_CASE("lists and texts of a manifest are accepted at their limits and refused past them") {
  const std::string chunk(64, 'a');
  CHECK(refused("/chunks", json(limits::kCheckpointChunksMax, chunk)).empty());
  CHECK(refused("/chunks", json(limits::kCheckpointChunksMax + 1, chunk)) == "chunks");
  CHECK(refused("/chunks", json::array()) == "chunks");
  for (const auto& wrong : {"a"s, std::string(63, 'a'), std::string(65, 'a'), std::string(64, 'A'), ""s}) {
    CHECK(refused("/chunks/0", wrong) == "chunks");
    CHECK(refused("/log", wrong) == "log");
  }
  CHECK(refused("/packages", json(limits::kPackagesMax, "p 1")).empty());
  CHECK(refused("/packages", json(limits::kPackagesMax + 1, "p 1")) == "packages");
  const auto check = [](const char* pointer, const char* field, std::size_t most) {
    CAPTURE(pointer);
    CHECK(refused(pointer, std::string(most, 'x')).empty());
    CHECK(refused(pointer, std::string(most + 1, 'x')) == field);
    CHECK(refused(pointer, "a\0b"s) == field);
  };
  check("/packages/0", "packages", limits::kPackageBytesMax);
  check("/r_version", "r_version", limits::kRVersionBytesMax);
  check("/architecture", "architecture", limits::kArchitectureBytesMax);
  check("/position/file", "position.file", limits::kPathBytesMax);
  check("/position/call", "position.call", limits::kMessageTextBytesMax);
  check("/progress/message", "progress.message", limits::kMessageTextBytesMax);
  json many = json::object();
  for (std::size_t i = 0; i < limits::kWatchedVariablesMax; ++i) many["v" + std::to_string(i)] = 1;
  CHECK(refused("/watched", many).empty());
  many["one more"] = 1;
  CHECK(refused("/watched", many) == "watched");
}

TEST_CASE("a field that a manifest, a report or a note does not have is refused") {
  CHECK(refused("/extra", 1) == "extra");
  CHECK(refused("/position/extra", 1) == "position.extra");
  CHECK(refused("/progress/extra", 1) == "progress.extra");
  const json report{{"sequence", 1}, {"skipped", {{{"sequence", 2}, {"reason", "r"}, {"extra", 1}}}}};
  CHECK(read_resume_report(JsonBody::of(report)).refusal().field == "skipped[0].extra");
  CHECK(read_checkpoint_note(JsonBody::of({{"interval_ms", 1}, {"extra", 1}})).refusal().field == "extra");
}

TEST_CASE("a report may skip sixteen checkpoints, each with a reason that fits") {
  const auto report = [](std::size_t count, const std::string& reason) {
    json skipped = json::array();
    for (std::size_t i = 0; i < count; ++i) skipped.push_back({{"sequence", i + 1}, {"reason", reason}});
    return json{{"sequence", 0}, {"skipped", skipped}};
  };
  const auto read = [](const json& body) { return read_resume_report(JsonBody::of(body)); };
  CHECK(read(report(limits::kCheckpointsSkippedMax, "r"))->skipped.size() == limits::kCheckpointsSkippedMax);
  CHECK_FALSE(read(report(limits::kCheckpointsSkippedMax + 1, "r")).ok());
  CHECK(read(report(1, std::string(limits::kMessageTextBytesMax, 'x'))).ok());
  CHECK_FALSE(read(report(1, std::string(limits::kMessageTextBytesMax + 1, 'x'))).ok());
  CHECK_FALSE(read({{"sequence", -1}}).ok());
  CHECK_FALSE(read({{"sequence", 1LL << 31}}).ok());
  CHECK(read({{"sequence", 7}})->sequence == 7);
}

TEST_CASE("a note has an interval, and perhaps a problem") {
  const auto read = [](const json& body) { return read_checkpoint_note(JsonBody::of(body)); };
  CHECK_FALSE(read({{"interval_ms", 5}})->problem);
  CHECK_FALSE(read({{"interval_ms", 5}, {"problem", nullptr}})->problem);
  CHECK(read({{"interval_ms", 5}, {"problem", "within optim()"}})->problem == "within optim()");
  CHECK_FALSE(read({{"problem", "x"}}).ok());
  CHECK_FALSE(
      read({{"interval_ms", 5}, {"problem", std::string(limits::kMessageTextBytesMax + 1, 'x')}}).ok());
}

}  // namespace remotist::market
