#include "core/id.h"

#include <chrono>
#include <doctest/doctest.h>
#include <set>
#include <string>

using namespace remotist;

TEST_CASE("an id is a version 7 UUID that begins with the present time") {
  const auto now_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  const std::string text = JobId::make().text();
  REQUIRE(text.size() == 36);
  CHECK(text[14] == '7');
  CHECK(std::string{"89ab"}.find(text[19]) != std::string::npos);
  const auto ms = std::stoll(text.substr(0, 8) + text.substr(9, 4), nullptr, 16);
  CHECK(ms >= now_ms);
  CHECK(ms < now_ms + 60'000);
}

TEST_CASE("ids differ and their text reads back") {
  std::set<JobId> seen;
  for (int i = 0; i < 10'000; ++i) {
    const auto id = JobId::make();
    CHECK(seen.insert(id).second);
    CHECK(JobId::parse(id.text()) == id);
  }
}

TEST_CASE("only the canonical form of a UUID is read") {
  const std::string good = "0194f1c2-7a5b-7c3d-8e9f-0123456789ab";
  CHECK(uuid_parse(good));
  CHECK(uuid_text(*uuid_parse("0194F1C2-7A5B-7C3D-8E9F-0123456789AB")) == good);
  for (const char* bad : {"", "0194f1c2", "0194f1c27a5b7c3d8e9f0123456789ab",
                          "0194f1c2-7a5b-7c3d-8e9f-0123456789a", "0194f1c2-7a5b-7c3d-8e9f-0123456789abc",
                          "0194f1c2_7a5b-7c3d-8e9f-0123456789ab", "g194f1c2-7a5b-7c3d-8e9f-0123456789ab",
                          "{194f1c2-7a5b-7c3d-8e9f-0123456789a}", "0194f1c2-7a5b-7c3d-8e9f-0123456789'b"}) {
    CAPTURE(bad);
    CHECK_FALSE(uuid_parse(bad));
  }
}
