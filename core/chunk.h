// The name of a chunk: the SHA-256 of its bytes, uncompressed. On the wire 64 lower-case hexadecimal digits.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "core/digest.h"

namespace remotist {

class ChunkName {
 public:
  static std::optional<ChunkName> parse(std::string_view hex) {
    if (!bytes_of_hex(hex, 32)) return std::nullopt;
    return ChunkName{std::string{hex}};
  }
  static ChunkName of(std::string_view bytes) { return ChunkName{hex_of(sha256(bytes))}; }

  const std::string& hex() const { return hex_; }
  auto operator<=>(const ChunkName&) const = default;

 private:
  explicit ChunkName(std::string hex) : hex_(std::move(hex)) {}
  std::string hex_;
};

}  // namespace remotist
