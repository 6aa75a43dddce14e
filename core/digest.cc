#include "core/digest.h"

#include <algorithm>
#include <cstdlib>
#include <openssl/evp.h>
#include <sodium.h>

namespace remotist {
namespace {

const unsigned char* raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* raw(std::string& bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

// libsodium takes some bytes past ASCII for digits of base64.
bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

}  // namespace

void crypto_start() {
  if (sodium_init() < 0) std::abort();
}

std::string hex_of(std::string_view bytes) {
  std::string text(bytes.size() * 2 + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), raw(bytes), bytes.size());
  text.pop_back();
  return text;
}

std::optional<std::string> bytes_of_hex(std::string_view hex, std::size_t count) {
  const bool lower =
      std::ranges::all_of(hex, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
  if (!lower || hex.size() != 2 * count) return std::nullopt;
  std::string bytes(count, '\0');
  sodium_hex2bin(raw(bytes), bytes.size(), hex.data(), hex.size(), nullptr, nullptr, nullptr);
  return bytes;
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  randombytes_buf(bytes.data(), bytes.size());
  return bytes;
}

// Of files, which may be large: libsodium, which takes the same time for any bytes, as for secrets, takes
// seven times as long.
std::string base64_of(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length = EVP_EncodeBlock(raw(text), raw(bytes), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::optional<std::string> bytes_of_base64(std::string_view text) {
  std::string bytes(text.size() / 4 * 3, '\0');
  std::size_t length = 0;
  const char* end = nullptr;
  const int fault = sodium_base642bin(raw(bytes), bytes.size(), text.data(), text.size(), nullptr, &length,
                                      &end, sodium_base64_VARIANT_ORIGINAL);
  if (fault != 0 || end != text.data() + text.size() || !is_ascii(text)) return std::nullopt;
  bytes.resize(length);
  return bytes;
}

std::string base64url_of(std::string_view bytes) {
  constexpr int kVariant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
  std::string text(sodium_base64_ENCODED_LEN(bytes.size(), kVariant), '\0');
  sodium_bin2base64(text.data(), text.size(), raw(bytes), bytes.size(), kVariant);
  text.pop_back();
  return text;
}

std::optional<std::string> bytes_of_base64url(std::string_view text, std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t length = 0;
  const char* end = nullptr;
  const int fault = sodium_base642bin(raw(bytes), bytes.size(), text.data(), text.size(), nullptr, &length,
                                      &end, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  if (fault != 0 || length != count || end != text.data() + text.size() || !is_ascii(text))
    return std::nullopt;
  return bytes;
}

SigningKey::SigningKey(std::string_view seed)
    : secret_(crypto_sign_SECRETKEYBYTES, '\0'), public_(crypto_sign_PUBLICKEYBYTES, '\0') {
  if (seed.size() != kSeedBytes) std::abort();
  crypto_sign_seed_keypair(raw(public_), raw(secret_), raw(seed));
}

std::string SigningKey::sign(std::string_view message) const {
  std::string signature(crypto_sign_BYTES, '\0');
  crypto_sign_detached(raw(signature), nullptr, raw(message), message.size(), raw(secret_));
  return signature;
}

bool signature_is_right(std::string_view public_key, std::string_view message, std::string_view signature) {
  return public_key.size() == crypto_sign_PUBLICKEYBYTES && signature.size() == crypto_sign_BYTES &&
         crypto_sign_verify_detached(raw(signature), raw(message), message.size(), raw(public_key)) == 0;
}

}  // namespace remotist
