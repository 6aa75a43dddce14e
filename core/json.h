// nlohmann/json, compiled once: sources that include this header instead of the library's own use the
// instantiation of core/json.cc, which saves seconds of compile time each.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/limits.h"

extern template class nlohmann::basic_json<>;

namespace remotist {

// Parses text written by RemotIST itself; throws nlohmann::json::parse_error.
nlohmann::json json_in(std::string_view text);

// Parses untrusted text; empty when it is not JSON, or nested deeper than `depth_max`.
std::optional<nlohmann::json> json_if_any(std::string_view text, int depth_max = limits::kJsonDepthMax);

}  // namespace remotist
