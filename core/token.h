// Bearer tokens of accounts, machines and attempts. Only their digests are stored.
#pragma once

#include <string>
#include <string_view>

namespace remotist {

// 256 random bits. The token contains `kind` (user, machine, attempt), so that people and leak scanners
// recognise it.
std::string fresh_token(std::string_view kind);
// The digest that is stored and looked up instead of a token or an invitation.
std::string token_hash(std::string_view token);

}  // namespace remotist
