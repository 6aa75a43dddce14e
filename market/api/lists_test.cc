// A list has a hundred kilobytes of JSON: written on an event loop it would delay all other requests there.
// Where a handler writes is read from its source, because nothing that it answers shows it.
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace remotist::market {
namespace {

namespace handler_sources {

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  REQUIRE(in);
  return {std::istreambuf_iterator<char>{in}, {}};
}

// The bodies of all coroutines of market/api by their names.
std::map<std::string, std::string> handlers() {
  constexpr std::string_view kBegin = "\nAnswer ";
  std::map<std::string, std::string> bodies;
  for (const auto& entry :
       std::filesystem::directory_iterator{std::filesystem::path{REMOTIST_SOURCE_DIR} / "market" / "api"}) {
    if (entry.path().extension() != ".cc") continue;
    const auto text = content_of(entry.path());
    for (auto at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at + 1)) {
      const auto name = text.substr(at + kBegin.size(), text.find('(', at) - at - kBegin.size());
      bodies[name] = text.substr(at, text.find("\n}\n", at) - at);
    }
  }
  return bodies;
}

}  // namespace handler_sources

TEST_CASE("every handler of a list writes its JSON on a thread of a pool") {
  int lists = 0;
  for (const auto& [name, body] : handler_sources::handlers()) {
    if (!body.contains("page_of(request)") && name != "post_blob_missing") continue;
    CAPTURE(name);
    CHECK(body.contains("(pg::Connection& db) -> Result<Reply> {"));
    CHECK_FALSE(body.contains("co_return Reply::json"));
    ++lists;
  }
  CHECK(lists >= 10);
}

}  // namespace
}  // namespace remotist::market
