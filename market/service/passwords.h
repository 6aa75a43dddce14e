// Argon2id. Each call takes tens of milliseconds and 64 MiB: run it on the password pool, never elsewhere.
#pragma once

#include <string>
#include <string_view>

namespace remotist::market {

// Throws std::bad_alloc when the memory is not to be had.
std::string hash_password(std::string_view password);

// With an empty hash does the same work and returns false, so that the time does not tell whether an account
// exists.
bool password_matches(std::string_view password, const std::string& hash);

}  // namespace remotist::market
