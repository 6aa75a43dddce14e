#include "core/token.h"

#include "core/digest.h"

namespace remotist {

std::string fresh_token(std::string_view kind) {
  constexpr std::size_t kTokenBytes = 32;
  return "remotist_" + std::string{kind} + "_" + base64url_of(random_bytes(kTokenBytes));
}

std::string token_hash(std::string_view token) {
  return sha256(token);
}

}  // namespace remotist
