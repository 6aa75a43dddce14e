// Random bytes, texts for bytes, and signatures; SHA-256 with them. Thread-safe after crypto_start().
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/sha256.h"  // IWYU pragma: export

namespace remotist {

// Call once, first thing in main: libsodium chooses its code for this CPU. Aborts when it cannot.
void crypto_start();

std::string hex_of(std::string_view bytes);
// The bytes that 2 × count lower-case hexadecimal digits stand for; nothing for any other text.
std::optional<std::string> bytes_of_hex(std::string_view hex, std::size_t count);
std::string random_bytes(std::size_t count);
std::string base64_of(std::string_view bytes);
// The bytes that a padded base64 text stands for; nothing for any other text.
std::optional<std::string> bytes_of_base64(std::string_view text);
std::string base64url_of(std::string_view bytes);  // without padding
// The `count` bytes that a base64url text stands for; nothing for any other text.
std::optional<std::string> bytes_of_base64url(std::string_view text, std::size_t count);

// Ed25519. A key pair is made from 32 secret bytes.
class SigningKey {
 public:
  static constexpr std::size_t kSeedBytes = 32;
  static constexpr std::size_t kPublicBytes = 32;

  // Requires kSeedBytes bytes.
  explicit SigningKey(std::string_view seed);

  const std::string& public_key() const { return public_; }
  std::string sign(std::string_view message) const;  // 64 bytes

 private:
  std::string secret_;
  std::string public_;
};
bool signature_is_right(std::string_view public_key, std::string_view message, std::string_view signature);

}  // namespace remotist
