#include "market/api/idempotency.h"

#include "core/digest.h"
#include "market/service/request_fields.h"

namespace remotist::market {

Result<std::optional<Idempotency>> idempotency_of(const Request& request) {
  const std::string& key = request.http->getHeader("idempotency-key");
  if (key.empty()) return std::optional<Idempotency>{};
  if (auto checked = check_idempotency_key(key); !checked) return checked.refusal();
  return std::optional{Idempotency{key, sha256(request.http->body())}};
}

}  // namespace remotist::market
