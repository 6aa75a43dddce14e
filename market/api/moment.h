// A moment as clients write it: 2026-02-01T09:30:00Z, with up to six digits of a second's fraction.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace remotist::market {

// As PostgreSQL reads it; none for any other text.
std::optional<std::string> moment_of(std::string_view text);

}  // namespace remotist::market
