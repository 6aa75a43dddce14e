// nlohmann/json, compiled once: whoever includes this header instead of the library's own takes its class and
// its parser from core/json.cc, which spares each source seconds of compiling.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/limits.h"

extern template class nlohmann::basic_json<>;

namespace remotist {

// Of a text that is ours: throws nlohmann::json::parse_error when it is no JSON after all.
nlohmann::json json_in(std::string_view text);

// Of anybody's: nothing when it is no JSON, or nested deeper than so many levels.
std::optional<nlohmann::json> json_if_any(std::string_view text, int depth_max = limits::kJsonDepthMax);

}  // namespace remotist
