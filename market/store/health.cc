#include "market/store/health.h"

#include "core/pg/statement.h"
#include "sql_queries.h"

namespace remotist::market {

bool database_answers(pg::Connection& db) noexcept {
  try {
    pg::read(db, sql::health_probe);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace remotist::market
