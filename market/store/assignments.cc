#include "market/store/assignments.h"

#include <string>

#include "core/limits.h"
#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "core/token.h"
#include "market/store/assignment_row.h"
#include "sql_queries.h"

namespace remotist::market {

std::vector<std::optional<protocol::Assignment>> begin_assignments(
    pg::Connection& db, const std::vector<BegunAttempt>& attempts) {
  std::vector<std::optional<protocol::Assignment>> assignments(attempts.size());
  if (attempts.empty()) return assignments;
  std::vector<std::string> tokens;
  std::vector<std::string> hashes;
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    tokens.push_back(fresh_token("attempt"));
    hashes.push_back(pg::bytea_text(token_hash(tokens.back())));
  }
  const auto rows =
      pg::write(db, sql::attempt_assignments,
                pqxx::params{pg::uuid_array(attempts, [](const auto& each) { return each.name.job; }),
                             pg::array_of(attempts, [](const auto& each) { return each.name.number; }),
                             pg::uuid_array(attempts, &BegunAttempt::machine_session),
                             pg::uuid_array(attempts, &BegunAttempt::connection), hashes,
                             limits::kAssignedFilesMax, limits::kAssignedFilesBytesMax});
  for (const auto& row : rows) {
    const auto index = row["position"].as<std::size_t>() - 1;
    assignments.at(index) = assignment_of(row, std::move(tokens.at(index)));
  }
  return assignments;
}

}  // namespace remotist::market
