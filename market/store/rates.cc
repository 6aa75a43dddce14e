#include "market/store/rates.h"

#include <utility>

#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "market/store/delete_old_rows.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

std::vector<std::string> names_of(const std::vector<Rate>& rates) {
  return pg::array_of(rates, &Rate::name);
}

}  // namespace

bool is_used_up(pg::Connection& db, const std::vector<Rate>& rates) {
  return pg::read(db, sql::rate_used_up, pqxx::params{names_of(rates), pg::array_of(rates, &Rate::most)})
      .one_field()
      .as<bool>();
}

bool count(pg::Connection& db, const std::vector<Rate>& rates) {
  const auto counted =
      pg::write(db, sql::rate_count,
                pqxx::params{names_of(rates), pg::array_of(rates, &Rate::most),
                             pg::array_of(rates, [](const Rate& each) { return each.within.count(); })});
  return std::cmp_equal(counted.size(), rates.size());
}

void uncount(pg::Connection& db, const std::vector<Rate>& rates) {
  pg::write(db, sql::rate_uncount, pqxx::params{names_of(rates)});
}

void reset_rate(pg::Connection& db, const Rate& rate) {
  pg::write(db, sql::rate_reset, pqxx::params{rate.name});
}

void delete_old_rates(pg::Connection& db) {
  delete_old_rows(db, sql::rate_delete_old);
}

}  // namespace remotist::market
