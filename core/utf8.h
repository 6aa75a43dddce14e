// Text that people and JSON can read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace remotist {

bool is_utf8(std::string_view text);

// The text's first whole characters, at most so many bytes; a byte that is not UTF-8 becomes a question mark.
std::string utf8_within(std::string_view text, std::size_t bytes_max);

}  // namespace remotist
