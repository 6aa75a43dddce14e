// SHA-256 and random bytes, from libsodium. Thread-safe after crypto_start().
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace remotist {

// Call once, first thing in main: libsodium chooses its code for this CPU. Aborts when it cannot.
void crypto_start();

std::string sha256(std::string_view bytes);  // 32 raw bytes
std::string hex_of(std::string_view bytes);
std::string random_bytes(std::size_t count);
std::string base64_of(std::string_view bytes);
std::string base64url_of(std::string_view bytes);  // without padding

}  // namespace remotist
