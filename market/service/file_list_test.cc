#include "market/service/file_list.h"

#include <doctest/doctest.h>

#include "core/limits.h"
#include "tests/fuzz/bodies.h"
#include "tests/fuzz/corpus.h"

using namespace remotist;
using namespace remotist::market;

TEST_CASE("as many chunks may be asked for as the limit says, and not one more") {
  nlohmann::json chunks(limits::kChunksAskedMax, std::string(64, 'a'));
  const auto asked = read_chunk_list(nlohmann::json{{"chunks", chunks}}.dump());
  REQUIRE(asked.ok());
  CHECK(asked->size() == limits::kChunksAskedMax);
  chunks.push_back(std::string(64, 'a'));
  CHECK(read_chunk_list(nlohmann::json{{"chunks", chunks}}.dump()).refusal().code == Code::too_large);
}

TEST_CASE("bodies that the fuzzer starts from or once found break nothing") {
  fuzz::check_corpus("bodies", [](std::string_view text) { return fuzz::bodies_broken_by(text, true); });
}
