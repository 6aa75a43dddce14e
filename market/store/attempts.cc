#include "market/store/attempts.h"

#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

// The role "files" of the protocol is "made" in SQL.
std::string role_in_sql(const AttemptFile& file) {
  return file.file->role == "files" ? "made" : file.file->role;
}

}  // namespace

std::vector<bool> are_current(pg::Connection& db, const std::vector<NamedAttempt>& attempts) {
  std::vector<bool> current(attempts.size());
  const auto rows = pg::read(
      db, sql::attempt_current,
      pqxx::params{
          pg::uuid_array(attempts, [](const NamedAttempt& each) { return each.name.job; }),
          pg::array_of(attempts, [](const NamedAttempt& each) { return each.name.number; }),
          pg::array_of(attempts,
                       [](const NamedAttempt& each) { return pg::bytea_text(each.token_hash.value_or("")); }),
          pg::uuid_array(attempts, &NamedAttempt::machine)});
  for (const auto& row : rows) current[row["position"].as<std::size_t>() - 1] = true;
  return current;
}

void accept_attempts(pg::Connection& db, const std::vector<protocol::AttemptName>& attempts) {
  if (attempts.empty()) return;
  pg::write(db, sql::attempt_accept,
            pqxx::params{pg::uuid_array(attempts, &protocol::AttemptName::job),
                         pg::array_of(attempts, &protocol::AttemptName::number)});
}

void replace_files(pg::Connection& db, const std::vector<AttemptFile>& files) {
  const auto jobs = pg::uuid_array(files, [](const AttemptFile& each) { return each.attempt.job; });
  const auto numbers = pg::array_of(files, [](const AttemptFile& each) { return each.attempt.number; });
  const auto roles = pg::array_of(files, role_in_sql);
  const auto paths = pg::array_of(files, [](const AttemptFile& each) { return each.file->path; });
  const auto contents =
      pg::array_of(files, [](const AttemptFile& each) { return pg::bytea_text(each.file->bytes); });
  pg::write(db, sql::attempt_files_replaced, pqxx::params{jobs, numbers, roles, paths});
  pg::write(db, sql::attempt_files_insert, pqxx::params{jobs, numbers, roles, paths, contents});
}

}  // namespace remotist::market
