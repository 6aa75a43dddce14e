#include "market/api/openapi.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "core/code.h"
#include "market/api/routes.h"

using namespace remotist;

namespace {

std::string upper(std::string word) {
  std::ranges::transform(word, word.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return word;
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
