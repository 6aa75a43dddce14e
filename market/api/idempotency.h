// The Idempotency-Key of a request.
#pragma once

#include <optional>

#include "market/api/http.h"
#include "market/store/jobs.h"

namespace remotist::market {

// Empty when the request has none. Refuses one that is too long or not printable ASCII.
Result<std::optional<Idempotency>> idempotency_of(const Request& request);

}  // namespace remotist::market
