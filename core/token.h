// Tokens: who holds one may speak for an account, a machine or an attempt. Only their digests are kept.
#pragma once

#include <string>
#include <string_view>

namespace remotist {

// 256 random bits. `kind` (user, machine, attempt) stands in it so that people and leak scanners know what it
// is.
std::string fresh_token(std::string_view kind);
// What is stored and looked up instead of a token or an invitation.
std::string token_hash(std::string_view token);

}  // namespace remotist
