#include "core/store/locks.h"

#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "sql_queries.h"

namespace remotist::store {

void lock_jobs(pg::Connection& db, const std::vector<JobId>& jobs) {
  pg::write(db, sql::job_rows_lock, pqxx::params{pg::uuid_array(jobs)});
}

void lock_tallies(pg::Connection& db, const std::vector<JobId>& jobs) {
  pg::write(db, sql::job_tallies_lock, pqxx::params{pg::uuid_array(jobs)});
}

void lock_storages(pg::Connection& db, const std::vector<JobId>& jobs) {
  pg::write(db, sql::job_storages_lock, pqxx::params{pg::uuid_array(jobs)});
}

}  // namespace remotist::store
