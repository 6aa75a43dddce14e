#pragma once

#include "core/pg/session.h"

namespace remotist::market {

// One round trip to the database; never throws.
bool database_answers(pg::Session& db) noexcept;

}  // namespace remotist::market
