// Machines as JSON.
#pragma once

#include "core/json.h"
#include "market/api/page.h"
#include "market/store/machines.h"

namespace remotist::market {

nlohmann::json document_of(const Machine& machine);
nlohmann::json document_of(const MachinePage& listed, const Page& page);

}  // namespace remotist::market
