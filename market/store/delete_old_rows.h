// Deletes old rows in bounded batches. Includes libpqxx; only for store/ sources.
#pragma once

#include <utility>

#include "core/limits.h"
#include "core/pg/statement.h"

namespace remotist::market {

// Runs a statement that deletes old rows until it finds fewer than limits::kRowsDeletedMax, which is its last
// parameter: no transaction takes more row locks than that. Rows locked by others are left for the next call.
inline void delete_old_rows(pg::Connection& db, const pg::Query& query, pqxx::params params = {}) {
  params.append(limits::kRowsDeletedMax);
  while (std::cmp_equal(pg::write(db, query, params).affected_rows(), limits::kRowsDeletedMax)) {
  }
}

}  // namespace remotist::market
