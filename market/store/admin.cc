#include "market/store/admin.h"

#include <utility>

#include "core/pg/statement.h"
#include "market/store/accounts.h"
#include "market/store/caller.h"
#include "market/store/job_row.h"
#include "market/store/machine_row.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

// The first thing that every statement of an admin answers.
std::optional<Refusal> admin_refusal_in(const pqxx::result& rows) {
  if (rows.empty()) return no_valid_token();
  if (!rows[0]["admin"].as<bool>()) return refuse(Code::forbidden, "only an admin may do that");
  return std::nullopt;
}

Refusal no_such_account(AccountId account) {
  return refuse(Code::not_found, "there is no account " + account.text());
}

}  // namespace

Result<AccountPage> list_accounts(pg::Connection& db, std::string_view token_hash, int page,
                                  int rows_a_page) {
  const auto rows = pg::read(db, sql::admin_users, pqxx::params{pg::bytes_of(token_hash), page, rows_a_page});
  if (auto refusal = admin_refusal_in(rows)) return *refusal;
  AccountPage listed{{}, std::cmp_greater(rows.size(), rows_a_page)};
  for (const auto& row : rows) {
    if (row["id"].is_null() || std::cmp_equal(listed.accounts.size(), rows_a_page)) break;
    listed.accounts.push_back({.id = row["id"].as<std::string>(),
                               .email = row["email"].as<std::string>(),
                               .role = row["role"].as<std::string>(),
                               .created_at = row["created_at"].as<std::string>(),
                               .disabled_at = row["disabled_at"].as<std::optional<std::string>>(),
                               .balance = Credits::micro(row["balance_micro"].as<std::int64_t>())});
  }
  return listed;
}

Result<void> set_disabled(pg::Connection& db, std::string_view token_hash, AccountId account, bool disabled) {
  const auto rows = pg::write(db, sql::admin_set_disabled,
                              pqxx::params{pg::bytes_of(token_hash), account.text(), disabled});
  if (auto refusal = admin_refusal_in(rows)) return *refusal;
  if (!rows[0]["found"].as<bool>()) return no_such_account(account);
  return {};
}

Result<void> set_ban(pg::Connection& db, std::string_view token_hash, MachineId machine,
                     const std::optional<std::string>& reason) {
  const auto rows =
      pg::write(db, sql::admin_set_ban, pqxx::params{pg::bytes_of(token_hash), machine.text(), reason});
  if (auto refusal = admin_refusal_in(rows)) return *refusal;
  if (!rows[0]["found"].as<bool>()) return refuse(Code::not_found, "there is no machine " + machine.text());
  return {};
}

Result<bool> grant_credits(pg::Connection& db, std::string_view token_hash, AccountId account, Credits amount,
                           std::string_view idempotency_key) {
  const auto rows = pg::write(db, sql::admin_grant,
                              pqxx::params{pg::bytes_of(token_hash), account.text(), amount.micro(),
                                           TransferId::make().text(), idempotency_key});
  if (auto refusal = admin_refusal_in(rows)) return *refusal;
  if (!rows[0]["found"].as<bool>()) return no_such_account(account);
  if (rows[0]["granted"].as<bool>()) return true;
  if (rows[0]["before"].as<bool>()) return false;
  return refuse(Code::idempotency_mismatch,
                "this Idempotency-Key was used for another grant: use a fresh one");
}

Result<JobPage> list_all_jobs(pg::Connection& db, std::string_view token_hash, std::optional<JobState> state,
                              int page, int rows_a_page) {
  pqxx::params params{pg::bytes_of(token_hash)};
  params.append(state ? std::optional{name_of(*state)} : std::nullopt);
  params.append(page);
  params.append(rows_a_page);
  const auto rows = pg::read(db, sql::admin_jobs, params);
  if (auto refusal = admin_refusal_in(rows)) return *refusal;
  return job_page_of(rows, rows_a_page);
}

Result<MachinePage> list_all_machines(pg::Connection& db, std::string_view token_hash, int page,
                                      int rows_a_page) {
  const auto rows =
      pg::read(db, sql::admin_machines, pqxx::params{pg::bytes_of(token_hash), page, rows_a_page});
  if (auto refusal = admin_refusal_in(rows)) return *refusal;
  return machine_page_of(rows, rows_a_page);
}

Result<void> set_quota(pg::Connection& db, std::string_view token_hash, AccountId account,
                       std::int64_t bytes) {
  try {
    const auto rows =
        pg::write(db, sql::admin_set_quota, pqxx::params{pg::bytes_of(token_hash), account.text(), bytes});
    if (auto refusal = admin_refusal_in(rows)) return *refusal;
    if (!rows[0]["found"].as<bool>()) return no_such_account(account);
    return {};
  } catch (const pg::ConstraintViolated& violated) {
    if (violated.constraint() != "storage_is_never_over_quota" &&
        violated.constraint() != "checkpoints_are_within_quota")
      throw;
    return refuse(Code::wrong_state, "the account uses more than that already");
  }
}

Result<AccountId> check_admin(pg::Connection& db, std::string_view token_hash) {
  const auto rows = pg::read(db, sql::admin_is, pqxx::params{pg::bytes_of(token_hash)});
  if (auto refusal = admin_refusal_in(rows)) return *refusal;
  return AccountId::parse(rows[0]["id"].view()).value();
}

Result<std::vector<Invariant>> audit_as(pg::Connection& db, std::string_view token_hash) {
  if (auto checked = check_admin(db, token_hash); !checked) return checked.refusal();
  return audit_ledger(db);
}

Result<std::string> invite(pg::Connection& db, std::string_view token_hash, std::string_view code_hash,
                           std::chrono::seconds lifetime) {
  if (auto checked = check_admin(db, token_hash); !checked) return checked.refusal();
  return create_invitation(db, code_hash, lifetime);
}

void make_admin(pg::Connection& db, AccountId account) {
  pg::write(db, sql::admin_make, pqxx::params{account.text()});
}

}  // namespace remotist::market
