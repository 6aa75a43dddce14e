#include "volunteer/agent/checkpoint_head.h"

#include <doctest/doctest.h>

#include "volunteer/sandbox/checkpoint_file.h"

namespace remotist::volunteer {
namespace {

CheckpointRecord some_record(std::string manifest) {
  auto uploaded = std::make_shared<UploadedChunks>();
  uploaded->manifest = std::move(manifest);
  auto taken = std::make_shared<CheckpointTaken>();
  taken->pause_ms = -1;
  return {
      .taken = taken,
      .uploaded = uploaded,
      .number = 1,
      .watched = {{"x", 3, WatchedMark{3, WatchedKind::removed, std::string(kWatchedHashBytesMax, '\xff')}},
                  {"y", 4, std::nullopt}}};
}

std::string with_watched(const nlohmann::json& watched) {
  return nlohmann::json{{"head", 1}, {"manifest", "m"}, {"watched", watched}}.dump();
}

}  // namespace

TEST_CASE("a head is read as it was written, with the variables that the job has") {
  const auto text = head_text(some_record("the manifest"));
  const auto head = read_head(text, {"y", "x"});
  CHECK(head.manifest == "the manifest");
  REQUIRE(head.watched.size() == 1);
  CHECK(head.watched.at(1).kind == WatchedKind::removed);
  CHECK(head.watched.at(1).hash == std::string(kWatchedHashBytesMax, '\xff'));
  CHECK(read_head(text, {"other"}).watched.empty());
}

TEST_CASE("what is no head is refused") {
  for (const std::string text :
       {"", "no JSON", "[]", "{}", R"({"head": 2, "manifest": "m", "watched": []})",
        R"({"head": 1, "watched": []})", R"({"head": 1, "manifest": 7, "watched": []})",
        R"({"head": 1, "manifest": "m"})", R"({"head": 1, "manifest": "m", "watched": {}})"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(read_head(text, {"x"}), std::runtime_error);
  }
  const std::string longest(2 * kWatchedHashBytesMax, 'a');
  CHECK_NOTHROW(read_head(with_watched({{{"variable", "x"}, {"kind", "value"}, {"hash", longest}}}), {"x"}));
  for (const auto& entry :
       std::vector<nlohmann::json>{7,
                                   {{"kind", "value"}, {"hash", "aa"}},
                                   {{"variable", "x"}, {"hash", "aa"}},
                                   {{"variable", "x"}, {"kind", "other"}, {"hash", "aa"}},
                                   {{"variable", "x"}, {"kind", "value"}, {"hash", ""}},
                                   {{"variable", "x"}, {"kind", "value"}, {"hash", "a"}},
                                   {{"variable", "x"}, {"kind", "value"}, {"hash", "zz"}},
                                   {{"variable", "x"}, {"kind", "value"}, {"hash", longest + "aa"}}}) {
    CAPTURE(entry.dump());
    CHECK_THROWS_AS(read_head(with_watched(nlohmann::json::array({entry})), {"x"}), std::runtime_error);
  }
}

TEST_CASE("the body for the market has only numbers that it accepts, and needs a manifest") {
  CHECK_THROWS(record_body(some_record("no manifest"), "head", "", 0));
  const auto manifest = encode(CheckpointManifest{.r_version = "4.5.0", .architecture = "x86_64"});
  const auto body = record_body(some_record(manifest), "head", "", 350);
  CHECK(body.at("pause_ms") == 0.0);
  CHECK(body.at("age_ms") == 350);
  CHECK(body.at("chunks") == nlohmann::json{"head"});
  CHECK_FALSE(body.contains("log"));
  CHECK_FALSE(body.contains("progress"));
}

}  // namespace remotist::volunteer
