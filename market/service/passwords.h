// Argon2id. Each call takes tens of milliseconds and 64 MiB: run it on the password pool, never elsewhere.
#pragma once

#include <string>
#include <string_view>

namespace remotist::market {

// Throws std::bad_alloc.
std::string hash_password(std::string_view password);

// With an empty hash it does the same work and returns false, so that the time does not reveal whether an
// account exists.
bool password_matches(std::string_view password, const std::string& hash);

}  // namespace remotist::market
