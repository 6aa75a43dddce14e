#include "market/store/rates.h"

#include <utility>

#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "market/store/forget.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

std::vector<std::string> names_of(const std::vector<Rate>& rates) {
  return pg::array_of(rates, &Rate::name);
}

}  // namespace

bool is_used_up(pg::Session& db, const std::vector<Rate>& rates) {
  return pg::read(db, sql::rate_used_up, pqxx::params{names_of(rates), pg::array_of(rates, &Rate::most)})
      .one_field()
      .as<bool>();
}

bool count(pg::Session& db, const std::vector<Rate>& rates) {
  const auto counted =
      pg::write(db, sql::rate_count,
                pqxx::params{names_of(rates), pg::array_of(rates, &Rate::most),
                             pg::array_of(rates, [](const Rate& each) { return each.within.count(); })});
  return std::cmp_equal(counted.size(), rates.size());
}

void uncount(pg::Session& db, const std::vector<Rate>& rates) {
  pg::write(db, sql::rate_uncount, pqxx::params{names_of(rates)});
}

void forget_rate(pg::Session& db, const Rate& rate) {
  pg::write(db, sql::rate_forget, pqxx::params{rate.name});
}

void forget_old_rates(pg::Session& db) {
  forget(db, sql::rate_forget_old);
}

}  // namespace remotist::market
