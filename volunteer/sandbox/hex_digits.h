// Bytes as hexadecimal digits, where core/digest.h, which needs libsodium, cannot be linked. Pure.
#pragma once

#include <string>
#include <string_view>

namespace remotist::volunteer {

inline std::string hex_digits(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

// Empty unless the text is pairs of lower-case digits.
inline std::string bytes_of_digits(std::string_view text) {
  const auto value = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string bytes;
  if (text.size() % 2 != 0) return bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    if (value(text[i]) < 0 || value(text[i + 1]) < 0) return {};
    bytes += static_cast<char>(value(text[i]) * 16 + value(text[i + 1]));
  }
  return bytes;
}

}  // namespace remotist::volunteer
