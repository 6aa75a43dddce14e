#include "market/api/idempotency.h"

#include <algorithm>

#include "core/digest.h"
#include "core/limits.h"

namespace remotist::market {

Result<std::optional<Idempotency>> idempotency_of(const Request& request) {
  const std::string& key = request.http->getHeader("idempotency-key");
  if (key.empty()) return std::optional<Idempotency>{};
  const bool printable = std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; });
  if (!printable || key.size() > limits::kIdempotencyKeyBytesMax) {
    return refuse(Code::invalid_field,
                  "an Idempotency-Key has at most " + std::to_string(limits::kIdempotencyKeyBytesMax) +
                      " printable ASCII characters, such as a UUID",
                  "Idempotency-Key");
  }
  return std::optional{Idempotency{key, sha256(request.http->body())}};
}

}  // namespace remotist::market
