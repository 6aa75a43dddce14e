// Validation rules that several kinds of request share, with their error messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/result.h"

namespace remotist::market {

Result<void> check_range(std::string_view field, std::int64_t value, std::int64_t least, std::int64_t most,
                         std::string_view unit);

// 1 to `bytes_max` bytes without control characters.
Result<void> check_name(std::string_view field, std::string_view name, std::size_t bytes_max);

// Only roughly: one @ with something on either side, no spaces or control characters.
Result<void> check_email(std::string_view email);
Result<void> check_password(std::string_view password, const char* field = "password");

}  // namespace remotist::market
