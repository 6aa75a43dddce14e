#include "core/digest.h"

#include <cstdlib>
#include <sodium.h>

namespace remotist {
namespace {

const unsigned char* raw(std::string_view bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}

std::string base64(std::string_view bytes, int variant) {
  std::string text(sodium_base64_ENCODED_LEN(bytes.size(), variant), '\0');
  sodium_bin2base64(text.data(), text.size(), raw(bytes), bytes.size(), variant);
  text.pop_back();
  return text;
}

}  // namespace

void crypto_start() {
  if (sodium_init() < 0) std::abort();
}

std::string sha256(std::string_view bytes) {
  std::string digest(crypto_hash_sha256_BYTES, '\0');
  crypto_hash_sha256(reinterpret_cast<unsigned char*>(digest.data()), raw(bytes), bytes.size());
  return digest;
}

std::string hex_of(std::string_view bytes) {
  std::string text(bytes.size() * 2 + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), raw(bytes), bytes.size());
  text.pop_back();
  return text;
}

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  randombytes_buf(bytes.data(), bytes.size());
  return bytes;
}

std::string base64_of(std::string_view bytes) {
  return base64(bytes, sodium_base64_VARIANT_ORIGINAL);
}

std::string base64url_of(std::string_view bytes) {
  return base64(bytes, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

}  // namespace remotist
