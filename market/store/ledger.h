// Reading the ledger.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/credits.h"
#include "core/pg/connection.h"
#include "core/result.h"

namespace remotist::market {

struct Invariant {
  std::string name;
  std::optional<std::string> broken_by;  // the violation; empty when it holds
};
// Checks every invariant of the ledger in one snapshot. Reads the whole ledger.
std::vector<Invariant> audit_ledger(pg::Connection& db);

struct StatementLine {
  std::string transfer;
  std::string reason;
  std::optional<std::string> job;
  Credits amount;  // negative: outgoing
  std::string at;
};
struct StatementPage {
  std::vector<StatementLine> lines;  // newest first
  bool more;
};
// Refuses with unauthenticated.
Result<StatementPage> statement_of(pg::Connection& db, std::string_view token_hash, int page, int rows);

}  // namespace remotist::market
