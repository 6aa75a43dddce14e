#include "market/api/openapi.h"

#include "openapi_json.h"

namespace remotist::market {

std::string_view openapi_document() {
  return kOpenapiJson;
}

}  // namespace remotist::market
