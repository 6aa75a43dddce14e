// Validation of machines that owners add, and their prices.
#pragma once

#include "core/credits.h"
#include "core/result.h"
#include "market/store/machines.h"

namespace remotist::market {

Result<void> check_new_machine(const NewMachine& machine);

// Owners set credits per CPU-hour; the ledger uses whole micro-credits per CPU-second, rounded to the
// nearest.
Credits per_cpu_second(Credits per_cpu_hour);
Credits per_cpu_hour(Credits per_cpu_second);

}  // namespace remotist::market
