// ETags: a digest of the response body; a request with the same tag in If-None-Match gets 304.
#pragma once

#include <string>
#include <string_view>

#include "core/digest.h"
#include "market/api/http.h"

namespace remotist::market {

inline Reply unless_known(const Request& request, Reply reply) {
  constexpr std::size_t kDigits = 32;
  const std::string tag = '"' + hex_of(sha256(reply.body)).substr(0, kDigits) + '"';
  const std::string& known = request.http->getHeader("if-none-match");
  // It is a list of tags, and a tag has no character that could make it a part of another.
  if (known == "*" || known.contains(tag)) reply = Reply{304, {}, {}, {}};
  return std::move(reply).with_header("ETag", tag).with_header("Cache-Control", "private, no-cache");
}

}  // namespace remotist::market
