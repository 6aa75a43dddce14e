// The protocol's messages as they stand in files: in its documentation and in the fuzzer's corpus.
#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "core/protocol.h"
#include "tests/fuzz/messages.h"

namespace remotist::protocol {
namespace {

std::string file_text(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

}  // namespace

TEST_CASE("every message that docs/protocol.md shows can be read, and it shows every type") {
  std::string document = file_text(REMOTIST_SOURCE_DIR "/docs/protocol.md");
  const auto put = [&](std::string_view shown, std::string_view whole) {
    for (std::size_t at = 0; (at = document.find(shown, at)) != std::string::npos; at += whole.size())
      document.replace(at, shown.size(), whole);
  };
  put("0194…", "01941f29-7c00-7aaa-8bbb-0123456789ab");
  put("\"base64\": \"…\"", "\"base64\": \"eA==\"");
  const std::size_t market_from = document.find("\n## From the market\n");
  REQUIRE(market_from != std::string::npos);

  std::set<std::size_t> agent_types, market_types;
  for (std::size_t at = 0; (at = document.find("{\"type\"", at)) != std::string::npos; ++at) {
    // Within a line a message ends with its code span, in a block where the block or the next message does.
    const bool in_line = document[at - 1] == '`';
    const std::size_t end = in_line ? document.find('`', at)
                                    : std::min(document.find("\n```", at), document.find("\n{\"type\"", at));
    const std::string text = document.substr(at, end - at);
    CAPTURE(text);
    const auto check = [&](const auto& frame, std::set<std::size_t>& types) {
      CHECK_MESSAGE(frame.ok(), frame.refusal().detail);
      if (frame) types.insert(frame->body.index());
    };
    if (at < market_from) {
      check(read_from_agent(text), agent_types);
    } else {
      check(read_from_market(text), market_types);
    }
  }
  CHECK(agent_types.size() == std::variant_size_v<FromAgent> - 1);  // ack is in the table of fields
  CHECK(market_types.size() == std::variant_size_v<FromMarket> - 1);
}

TEST_CASE("messages that the fuzzer starts from or once found break nothing") {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator{REMOTIST_SOURCE_DIR "/tests/fuzz/corpus/messages"}) {
    CAPTURE(entry.path().string());
    CHECK(fuzz::messages_broken_by(file_text(entry.path()), true) == "");
    ++files;
  }
  CHECK(files >= 30);
}

}  // namespace remotist::protocol
