// Deleting what is old, a bounded number of rows at a time. Shows libpqxx: include it from store/ sources
// only.
#pragma once

#include <utility>

#include "core/limits.h"
#include "core/pg/statement.h"

namespace remotist::market {

// Runs a statement that deletes old rows until it finds fewer than limits::kRowsForgottenMax, which is its
// last parameter: none of its transactions holds more locks than that. Rows that others hold are left for the
// next time.
inline void forget(pg::Session& db, const pg::Query& query, pqxx::params params = {}) {
  params.append(limits::kRowsForgottenMax);
  while (std::cmp_equal(pg::write(db, query, params).affected_rows(), limits::kRowsForgottenMax)) {
  }
}

}  // namespace remotist::market
