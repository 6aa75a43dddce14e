// A job as a row of a query that selects its columns. Shows libpqxx: for store/ sources.
#pragma once

#include <pqxx/pqxx>

#include "market/store/jobs.h"

namespace remotist::market {

// Requires an id that is not null.
Job job_of(const pqxx::row& row);

// From a query that gives one row more than a page when there is a next one, and a row without an id when
// there is none.
JobPage job_page_of(const pqxx::result& rows, int rows_a_page);

}  // namespace remotist::market
