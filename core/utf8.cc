#include "core/utf8.h"

#include <algorithm>
#include <cstdint>

namespace remotist {
namespace {

// Of the UTF-8 character that the text begins with; 0 when it begins with none (RFC 3629, 4).
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
  const std::uint8_t lead = byte(0);
  const std::size_t bytes = lead < 0x80   ? 1
                            : lead < 0xc2 ? 0
                            : lead < 0xe0 ? 2
                            : lead < 0xf0 ? 3
                            : lead < 0xf5 ? 4
                                          : 0;
  if (bytes > text.size()) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xf0 && byte(1) < 0x90);
  const bool no_character = (lead == 0xed && byte(1) > 0x9f) || (lead == 0xf4 && byte(1) > 0x8f);
  return overlong || no_character ? 0 : bytes;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

namespace {

// Of a character of one or two bytes; longer ones are none.
bool is_control(std::string_view character) {
  const auto first = static_cast<std::uint8_t>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return character.size() == 2 && first == 0xc2 && static_cast<std::uint8_t>(character[1]) < 0xa0;
}

// The text's first characters, each as `shown` gives it; bytes that are no UTF-8 are given as nothing.
template <class Shown>
std::string within(std::string_view text, std::size_t bytes_max, Shown shown) {
  std::string kept;
  while (!text.empty()) {
    const std::size_t bytes = character_bytes(text);
    const std::string_view character = shown(text.substr(0, bytes));
    if (kept.size() + character.size() > bytes_max) break;
    kept.append(character);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return kept;
}

}  // namespace

std::string utf8_within(std::string_view text, std::size_t bytes_max) {
  return within(text, bytes_max, [](std::string_view character) -> std::string_view {
    return character.empty() ? "?" : character;
  });
}

bool has_control_characters(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = std::max<std::size_t>(character_bytes(text), 1);
    if (is_control(text.substr(0, bytes))) return true;
    text.remove_prefix(bytes);
  }
  return false;
}

std::string clean_text(std::string_view text, std::size_t bytes_max) {
  return within(text, bytes_max, [](std::string_view character) -> std::string_view {
    if (character == "\t" || character == "\n") return character;
    return character.empty() || is_control(character) ? "?" : character;
  });
}

}  // namespace remotist
