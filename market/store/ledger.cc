#include "market/store/ledger.h"

#include "core/pg/statement.h"
#include "market/store/caller.h"
#include "sql_queries.h"

namespace remotist::market {

std::vector<Invariant> audit_ledger(pg::Connection& db) {
  std::vector<Invariant> invariants;
  for (const auto& row : pg::read(db, sql::ledger_audit)) {
    invariants.push_back(
        {row["invariant"].as<std::string>(), row["broken_by"].as<std::optional<std::string>>()});
  }
  return invariants;
}

Result<StatementPage> statement_of(pg::Connection& db, std::string_view token_hash, int page,
                                   int rows_a_page) {
  const auto rows =
      pg::read(db, sql::ledger_statement, pqxx::params{pg::bytes_of(token_hash), page, rows_a_page});
  if (rows.empty()) return no_valid_token();
  StatementPage statement{{}, std::cmp_greater(rows.size(), rows_a_page)};
  for (const auto& row : rows) {
    if (row["transfer"].is_null() || std::cmp_equal(statement.lines.size(), rows_a_page)) break;
    statement.lines.push_back({.transfer = row["transfer"].as<std::string>(),
                               .reason = row["reason"].as<std::string>(),
                               .job = row["job_id"].as<std::optional<std::string>>(),
                               .amount = Credits::micro(row["amount_micro"].as<std::int64_t>()),
                               .at = row["at"].as<std::string>()});
  }
  return statement;
}

}  // namespace remotist::market
