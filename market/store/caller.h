// Who calls. Token, right and row are one SQL statement; this is what a statement's answer of "no such
// caller" becomes.
#pragma once

#include "core/result.h"

namespace remotist::market {

inline Refusal no_valid_token() {
  return refuse(Code::unauthenticated, "the token is unknown, expired or revoked: log in again");
}

}  // namespace remotist::market
