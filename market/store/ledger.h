// The ledger as people look at it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/credits.h"
#include "core/pg/session.h"
#include "core/result.h"

namespace remotist::market {

struct Invariant {
  std::string name;
  std::optional<std::string> broken_by;  // what breaks it; none when it holds
};
// Every invariant of the ledger in one snapshot, whatever crashed when. Reads the whole ledger.
std::vector<Invariant> audit_ledger(pg::Session& db);

struct StatementLine {
  std::string transfer;
  std::string reason;
  std::optional<std::string> job;
  Credits amount;  // negative: it went out
  std::string at;
};
struct StatementPage {
  std::vector<StatementLine> lines;  // newest first
  bool more;
};
// Refuses with unauthenticated.
Result<StatementPage> statement_of(pg::Session& db, std::string_view token_hash, int page, int rows);

}  // namespace remotist::market
