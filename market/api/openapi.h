// The OpenAPI description of the market (market/api/openapi.json, carried in the binary).
#pragma once

#include <string_view>

namespace remotist::market {

std::string_view openapi_document();

}  // namespace remotist::market
