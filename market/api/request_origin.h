// The origin of a request, for limits and the audit log.
#pragma once

#include "market/api/http.h"
#include "market/store/audit.h"

namespace remotist::market {

inline RequestOrigin origin_of(const Request& request) {
  return {.address = request.client_address, .request = request.id};
}

}  // namespace remotist::market
