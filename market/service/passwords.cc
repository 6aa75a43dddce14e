#include "market/service/passwords.h"

#include <new>
#include <sodium.h>

namespace remotist::market {
namespace {

constexpr unsigned long long kPasses = crypto_pwhash_OPSLIMIT_INTERACTIVE;
constexpr std::size_t kMemoryBytes = crypto_pwhash_MEMLIMIT_INTERACTIVE;  // 64 MiB

}  // namespace

std::string hash_password(std::string_view password) {
  char hash[crypto_pwhash_STRBYTES];
  if (crypto_pwhash_str(hash, password.data(), password.size(), kPasses, kMemoryBytes) != 0)
    throw std::bad_alloc{};
  return hash;
}

bool password_matches(std::string_view password, const std::string& hash) {
  if (hash.empty()) {
    (void)hash_password(password);
    return false;
  }
  return crypto_pwhash_str_verify(hash.c_str(), password.data(), password.size()) == 0;
}

}  // namespace remotist::market
