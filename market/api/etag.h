// ETags: a digest of the response body; a request with the same tag in If-None-Match gets 304.
#pragma once

#include <string>
#include <utility>

#include "market/api/http.h"
#include "market/service/request_fields.h"

namespace remotist::market {

inline Reply unless_known(const Request& request, Reply reply) {
  const std::string tag = etag_of(reply.body);
  if (is_known_etag(request.http->getHeader("if-none-match"), tag)) reply = Reply{304, {}, {}, {}};
  return std::move(reply).with_header("ETag", tag).with_header("Cache-Control", "private, no-cache");
}

}  // namespace remotist::market
