#include "market/api/openapi.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "core/code.h"
#include "core/digest.h"
#include "core/json.h"
#include "market/api/routes.h"

using namespace remotist;

namespace {

std::string upper(std::string word) {
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return word;
}

int count(std::string_view text, std::string_view word) {
  int found = 0;
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

std::string_view between(std::string_view text, std::string_view from, std::string_view to) {
  const auto begin = text.find(from) + from.size();
  return text.substr(begin, text.find(to, begin) - begin);
}

std::string source_text(const std::filesystem::path& file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

}  // namespace

TEST_CASE("openapi.json describes every route that exists and no other") {
  const auto document = nlohmann::json::parse(market::openapi_document());
  std::set<std::string> described;
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) described.insert(upper(method) + " " + path);
  }
  std::set<std::string> existing;
  for (const auto& route : market::routes())
    existing.insert(std::string{route.method} + " " + std::string{route.path});
  CHECK(described == existing);
}

TEST_CASE("openapi.json describes every query parameter that a handler reads and no other") {
  // From the text of the sources: names are given to getParameter(), or to a function that passes its `field`
  // on.
  const std::regex named{
      R"re(\b(?:getParameter\(|(?:timestamp_asked|asked|read_end)\(request,)\s*"(\w+)")re"};
  const std::regex unnamed{R"re(\bgetParameter\((?!\s*"))re"};
  std::set<std::string> read;
  std::ptrdiff_t passed_on = 0;
  for (const auto& file : std::filesystem::directory_iterator{REMOTIST_SOURCE_DIR "/market/api"}) {
    const auto name = file.path().filename().string();
    if (!(name.ends_with(".cc") || name.ends_with(".h")) || name.ends_with("_test.cc")) continue;
    const auto text = source_text(file.path());
    const std::sregex_iterator end;
    for (std::sregex_iterator each{text.begin(), text.end(), named}; each != end; ++each)
      read.insert((*each)[1]);
    passed_on += std::distance(std::sregex_iterator{text.begin(), text.end(), unnamed}, end);
  }
  // asked(), with which timestamp_asked() reads, and read_end(). A further one must be added above.
  CHECK(passed_on == 2);

  const auto document = nlohmann::json::parse(market::openapi_document());
  std::set<std::string> described;
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      for (const auto& parameter : operation.value("parameters", nlohmann::json::array())) {
        const auto& shown =
            parameter.contains("$ref")
                ? document.at(nlohmann::json::json_pointer{parameter["$ref"].get<std::string>().substr(1)})
                : parameter;
        if (shown["in"] == "query") described.insert(shown["name"].get<std::string>());
      }
    }
  }
  CHECK(read == described);
  CHECK(read.size() > 10);
}

TEST_CASE("openapi.json lists every code of a problem document") {
  const auto document = nlohmann::json::parse(market::openapi_document());
  std::set<std::string> described;
  for (const auto& code : document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"]) {
    described.insert(code.get<std::string>());
  }
  std::set<std::string> existing;
  for (const auto& row : code_table()) existing.emplace(row.name);
  CHECK(described == existing);
}

TEST_CASE("every reference in openapi.json leads somewhere") {
  const auto document = nlohmann::json::parse(market::openapi_document());
  int references = 0;
  const auto walk = [&](const auto& self, const nlohmann::json& node) -> void {
    if (node.is_object() && node.contains("$ref")) {
      const auto target = node["$ref"].get<std::string>();
      CAPTURE(target);
      REQUIRE(target.starts_with("#/"));
      CHECK(document.contains(nlohmann::json::json_pointer{target.substr(1)}));
      ++references;
    }
    if (node.is_structured()) {
      for (const auto& child : node) self(self, child);
    }
  };
  walk(walk, document);
  CHECK(references > 0);
}

TEST_CASE("the page for people asks nobody but the market for anything") {
  const auto page = market::openapi_page();
  // The namespace of its icon is a name, not an address.
  CHECK(count(page, "http://") == count(page, "xmlns='http://www.w3.org/2000/svg'"));
  CHECK(count(page, "https://") == 0);
  for (const char* word : {" src=", "@import", "url(", "import(", "<iframe", "<object", "<form",
                           "localStorage", "sessionStorage", "document.cookie"}) {
    CAPTURE(word);
    CHECK(count(page, word) == 0);
  }
}

TEST_CASE("the page for people never makes markup or code out of text") {
  for (const char* word : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                           "Function(", "javascript:", " style=", " onclick=", " onload="}) {
    CAPTURE(word);
    CHECK(count(market::openapi_page(), word) == 0);
  }
}

TEST_CASE("the policy of the page admits its script and its style and no other") {
  const auto page = market::openapi_page();
  const std::string& policy = market::openapi_page_policy();
  REQUIRE(count(page, "<script") == 1);
  REQUIRE(count(page, "<style") == 1);
  CHECK(count(page, "\r") == 0);  // a browser hashes without them
  const auto script = base64_of(sha256(between(page, "<script>", "</script>")));
  const auto style = base64_of(sha256(between(page, "<style>", "</style>")));
  CHECK(count(policy, "; script-src 'sha256-" + script + "';") == 1);
  CHECK(count(policy, "; style-src 'sha256-" + style + "';") == 1);
  CHECK(policy.starts_with("default-src 'none'; connect-src 'self'; "));
  CHECK(count(policy, "unsafe") == 0);
}

TEST_CASE("the page for people stays small") {
  CHECK(market::openapi_page().size() < 45'000);
}
