#pragma once

#include "core/pg/connection.h"

namespace remotist::market {

// One round trip to the database; never throws.
bool database_answers(pg::Connection& db) noexcept;

}  // namespace remotist::market
