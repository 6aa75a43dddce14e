// UTF-8 checks and conversions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace remotist {

bool is_utf8(std::string_view text);

// The text's first whole characters, at most so many bytes; a byte that is not UTF-8 becomes a question mark.
std::string utf8_within(std::string_view text, std::size_t bytes_max);

// Whether it has a control character: below U+0020, or U+007F to U+009F. Requires is_utf8(text).
bool has_control_characters(std::string_view text);

// As utf8_within(), and every control character but tab and line feed becomes a question mark: the text that
// the market accepts. Every text that a job produces passes through this function.
std::string clean_text(std::string_view text, std::size_t bytes_max);

}  // namespace remotist
