// A job as a row of a query that selects its columns. Includes libpqxx; only for store/ sources.
#pragma once

#include <pqxx/pqxx>

#include "market/store/jobs.h"

namespace remotist::market {

// Both require an id that is not null. One of a list has no watched_variables, failure_detail and
// progress_message.
Job listed_job_of(const pqxx::row& row);
Job job_of(const pqxx::row& row);

// From a query that gives one row more than a page when there is a next one, and a row without an id when
// there is none.
JobPage job_page_of(const pqxx::result& rows, int rows_a_page);

}  // namespace remotist::market
