// Timestamps as clients write them: 2026-02-01T09:30:00Z, with up to six digits of a second's fraction.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace remotist::market {

// The text as PostgreSQL reads it; empty when it is not a timestamp of this form.
std::optional<std::string> timestamp_of(std::string_view text);

}  // namespace remotist::market
