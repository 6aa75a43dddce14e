#include "tests/support/api_schema.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <fstream>
#include <mutex>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "tests/support/http.h"

namespace remotist::test {
namespace {

using nlohmann::json;

bool has_type(const json& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  throw std::runtime_error{"openapi.json has a type " + type};
}

bool is_one_of(const json& value, const json& types) {
  if (types.is_string()) return has_type(value, types);
  return std::ranges::any_of(types, [&](const json& type) { return has_type(value, type); });
}

bool has_format(const std::string& text, const std::string& format) {
  static const std::regex uuid{"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"};
  static const std::regex time{R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z)"};
  if (format == "uuid") return std::regex_match(text, uuid);
  if (format == "date-time") return std::regex_match(text, time);
  throw std::runtime_error{"openapi.json has a format " + format};
}

// What the check below does not know must not look checked.
void check_keywords(const json& schema) {
  static const std::set<std::string> known{"type",
                                           "enum",
                                           "properties",
                                           "required",
                                           "items",
                                           "format",
                                           "pattern",
                                           "additionalProperties",
                                           "minimum",
                                           "maximum",
                                           "minLength",
                                           "maxLength",
                                           "maxItems",
                                           "default",
                                           "examples",
                                           "description",
                                           "exclusiveMinimum"};
  for (const auto& [keyword, value] : schema.items())
    if (!known.contains(keyword)) throw std::runtime_error{"openapi.json has a keyword " + keyword};
}

std::string mismatch_of_object(const json& value, const json& schema, const std::string& where) {
  const auto prefix = where.empty() ? "" : where + ".";
  for (const auto& field : schema.value("required", json::array())) {
    if (!value.contains(field)) return prefix + field.get<std::string>() + " is missing";
  }
  static const json none = json::object();
  const json& properties = schema.contains("properties") ? schema["properties"] : none;
  for (const auto& [field, each] : value.items()) {
    if (properties.contains(field)) {
      if (auto found = mismatch(each, properties[field], prefix + field); !found.empty()) return found;
    } else if (!schema.value("additionalProperties", false)) {
      return prefix + field + " is not documented";
    }
  }
  return {};
}

// Is the path without its query one of the pattern "/job/{id}"?
bool fits(std::string_view path, std::string_view pattern) {
  while (true) {
    const auto part = path.substr(0, path.find('/')), expected = pattern.substr(0, pattern.find('/'));
    if (expected.starts_with('{') ? part.empty() : part != expected) return false;
    const bool ends = part.size() == path.size();
    if (ends || expected.size() == pattern.size()) return ends && expected.size() == pattern.size();
    path.remove_prefix(part.size() + 1);
    pattern.remove_prefix(expected.size() + 1);
  }
}

// The operation that describes a request, with its path's pattern; null: none does.
const json* operation_of(std::string method, const std::string& target, std::string& pattern_found) {
  const std::string path = target.substr(0, target.find('?'));
  std::ranges::transform(method, method.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto& paths = api_document()["paths"];
  for (const bool exactly : {true, false}) {  // /blob/missing is not a chunk
    for (const auto& [pattern, methods] : paths.items()) {
      if (!(exactly ? pattern == path : fits(path, pattern)) || !methods.contains(method)) continue;
      pattern_found = pattern;
      return &methods[method];
    }
  }
  return nullptr;
}

std::string type_of(const HttpAnswer& answer) {
  const auto header = answer.headers.find("content-type");
  return header == answer.headers.end() ? "" : header->second.substr(0, header->second.find(';'));
}

std::string mismatch_of_text(std::string_view text, const json& schema) {
  const auto document = json::parse(text, nullptr, false);
  return document.is_discarded() ? "the body is not JSON" : mismatch(document, schema);
}

// The data of each server-sent event.
std::string mismatch_of_events(const std::string& body, const json& schema) {
  constexpr std::string_view field = "data:";
  std::istringstream lines{body};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(field)) continue;
    if (auto found = mismatch_of_text(line.substr(field.size()), schema); !found.empty()) return found;
  }
  return {};
}

std::string mismatch_of_answer(const json& operation, const HttpAnswer& answer) {
  const auto& responses = operation["responses"];
  const auto status = std::to_string(answer.status);
  if (!responses.contains(status) && !(answer.status >= 400 && responses.contains("default")))
    return "status " + status + " is not documented";
  const auto& response = resolved(responses[responses.contains(status) ? status : "default"]);
  if (!response.contains("content")) return answer.body.empty() ? "" : "a body is not documented";
  // What the HTTP library refuses before it has read the request has no body (docs/limits.md).
  if (answer.body.empty() && answer.status >= 400) return {};
  const auto type = type_of(answer);
  if (!response["content"].contains(type)) return "content type '" + type + "' is not documented";
  const auto& content = response["content"][type];
  if (content.contains("x-event-data")) return mismatch_of_events(answer.body, content["x-event-data"]);
  return type.ends_with("json") ? mismatch_of_text(answer.body, content["schema"]) : "";
}

// Does the answer show what the operation answers when it succeeds? One without content (304) does not where
// another has some.
bool shows_success(const json& operation, const HttpAnswer& answer) {
  if (answer.status >= 400) return false;
  const auto has_content = [](const json& response) { return resolved(response).contains("content"); };
  const auto& responses = operation["responses"];
  const auto status = std::to_string(answer.status);
  if (!responses.contains(status)) return false;
  if (has_content(responses[status])) return true;
  for (const auto& [each, response] : responses.items())
    if (each < "4" && has_content(response)) return false;
  return true;
}

std::mutex checked_mutex;
std::set<std::string> checked;

void check_answer(const std::string& method, const std::string& path, const HttpAnswer& answer) {
  if (answer.status == 0) return;
  // A proxy's own page: none of the markets behind it answers.
  if (answer.status >= 502 && type_of(answer) == "text/html") return;
  std::string pattern;
  const json* const operation = operation_of(method, path, pattern);
  std::string found;
  if (operation != nullptr) {
    found = mismatch_of_answer(*operation, answer);
  } else if (type_of(answer).ends_with("json")) {  // there is no such route
    static const json problem{{"$ref", "#/components/schemas/Problem"}};
    found = mismatch_of_text(answer.body, problem);
  }
  if (!found.empty()) {
    FAIL_CHECK("openapi.json and the market differ: " << method << " " << path << " answered "
                                                      << answer.status << ": " << found << "\n"
                                                      << answer.body.substr(0, 2000));
  }
  if (operation == nullptr || !shows_success(*operation, answer)) return;
  const std::lock_guard lock{checked_mutex};
  checked.insert(method + " " + pattern);
}

[[maybe_unused]] const bool observing = [] {
  Http::observe(check_answer);
  return true;
}();

}  // namespace

const json& api_document() {
  static const json document = json::parse(std::ifstream{REMOTIST_SOURCE_DIR "/market/api/openapi.json"});
  return document;
}

const json& resolved(const json& schema) {
  if (!schema.contains("$ref")) return schema;
  return resolved(api_document().at(json::json_pointer{schema["$ref"].get<std::string>().substr(1)}));
}

std::string mismatch(const json& value, const json& given, const std::string& where) {
  const json& schema = resolved(given);
  check_keywords(schema);
  if (schema.contains("enum")) {
    return std::ranges::find(schema["enum"], value) != schema["enum"].end() ? ""
                                                                            : where + " is " + value.dump();
  }
  if (!is_one_of(value, schema.at("type"))) return where + " is " + value.dump();
  if (value.is_object()) return mismatch_of_object(value, schema, where);
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      auto found = mismatch(value[i], schema.at("items"), where + "[" + std::to_string(i) + "]");
      if (!found.empty()) return found;
    }
  }
  if (value.is_string() && schema.contains("format") &&
      !has_format(value.get<std::string>(), schema["format"].get<std::string>()))
    return where + " is " + value.dump();
  if (value.is_number() && (value < schema.value("minimum", value) || value > schema.value("maximum", value)))
    return where + " is " + value.dump();
  if (value.is_string() && schema.contains("pattern") &&
      !std::regex_search(value.get<std::string>(), std::regex{schema["pattern"].get<std::string>()}))
    return where + " is " + value.dump();
  return {};
}

std::set<std::string> routes_checked() {
  const std::lock_guard lock{checked_mutex};
  return checked;
}

}  // namespace remotist::test
