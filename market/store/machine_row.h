// A machine as a row of machine_shown. Includes libpqxx; only for store/ sources.
#pragma once

#include <pqxx/pqxx>

#include "market/store/machines.h"

namespace remotist::market {

// From a query that gives one row more than a page when there is a next one, and a row without an id when
// there is none.
MachinePage machine_page_of(const pqxx::result& rows, int rows_a_page);

}  // namespace remotist::market
