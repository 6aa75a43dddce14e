// Problem documents (RFC 9457): how a refusal looks on the wire.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "core/result.h"

namespace remotist {

inline constexpr std::string_view kProblemMediaType = "application/problem+json";

// {"type", "title", "status", "detail", "code", "retryable", "request_id"} and "field" where there is one.
nlohmann::json problem_document(const Refusal& refusal, std::string_view request_id);

}  // namespace remotist
