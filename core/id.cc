#include "core/id.h"

#include <chrono>
#include <cstdlib>
#include <sys/random.h>

namespace remotist {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr bool dash_before(std::size_t byte) {
  return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

}  // namespace

UuidBytes uuid_v7() {
  UuidBytes bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  auto ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  for (int i = 5; i >= 0; --i) {
    bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(ms & 0xff);
    ms >>= 8;
  }
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0f) | 0x70);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3f) | 0x80);
  return bytes;
}

std::string uuid_text(const UuidBytes& bytes) {
  std::string text(36, '-');
  std::size_t at = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (dash_before(i)) ++at;
    text[at++] = kHex[bytes[i] >> 4];
    text[at++] = kHex[bytes[i] & 0x0f];
  }
  return text;
}

std::optional<UuidBytes> uuid_parse(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  UuidBytes bytes;
  std::size_t at = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (dash_before(i) && text[at++] != '-') return std::nullopt;
    const int high = hex_value(text[at++]);
    const int low = hex_value(text[at++]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return bytes;
}

}  // namespace remotist
