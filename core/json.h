// nlohmann/json, compiled once: sources that include this header instead of the library's own use the
// instantiation of core/json.cc, which saves seconds of compile time each.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/limits.h"

extern template class nlohmann::basic_json<>;

namespace remotist {

// Parses text written by RemotIST itself; throws nlohmann::json::parse_error.
nlohmann::json json_in(std::string_view text);

struct UntrustedJson {
  std::optional<nlohmann::json> document;
  bool too_deep = false;  // without a document: why there is none
  std::string mistake{};  // otherwise: what nlohmann::json::parse() would throw
};

// Parses untrusted text without throwing: malformed text is as frequent here as any other, and an exception
// costs more than the parsing. Stops where the text is nested deeper than `depth_max`.
UntrustedJson parse_untrusted(std::string_view text, int depth_max = limits::kJsonDepthMax);

// The document alone.
std::optional<nlohmann::json> json_if_any(std::string_view text, int depth_max = limits::kJsonDepthMax);

}  // namespace remotist
