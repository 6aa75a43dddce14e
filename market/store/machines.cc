#include "market/store/machines.h"

#include <format>
#include <utility>

#include "core/limits.h"
#include "core/pg/statement.h"
#include "market/store/caller.h"
#include "market/store/delete_old_rows.h"
#include "market/store/machine_row.h"
#include "sql_queries.h"

namespace remotist::market {
namespace {

Machine machine_of(const pqxx::row& row) {
  return Machine{.id = MachineId::parse(row["id"].view()).value(),
                 .account = AccountId::parse(row["account_id"].view()).value(),
                 .name = row["name"].as<std::string>(),
                 .cpu_cores = row["cpu_cores"].as<std::int64_t>(),
                 .ram_mb = row["ram_mb"].as<std::int64_t>(),
                 .disc_mb = row["disc_mb"].as<std::int64_t>(),
                 .price_per_cpu_second = Credits::micro(row["price_micro_per_cpu_second"].as<std::int64_t>()),
                 .state = row["state"].as<std::string>(),
                 .created_at = row["created_at"].as<std::string>(),
                 .seen_at = row["seen_at"].as<std::optional<std::string>>(),
                 .ban_reason = row["ban_reason"].as<std::optional<std::string>>()};
}

Refusal no_machine(MachineId id) {
  return refuse(Code::not_found, "there is no machine " + id.text() + " of yours");
}

// What every statement answers first: a caller, and the machine if there is one for it.
std::optional<Refusal> refusal_in(const pqxx::result& rows, MachineId id) {
  if (rows.empty()) return no_valid_token();
  if (rows[0]["id"].is_null()) return no_machine(id);
  return std::nullopt;
}

}  // namespace

MachinePage machine_page_of(const pqxx::result& rows, int rows_a_page) {
  MachinePage listed{{}, std::cmp_greater(rows.size(), rows_a_page)};
  for (const auto& row : rows) {
    if (row["id"].is_null() || std::cmp_equal(listed.machines.size(), rows_a_page)) break;
    listed.machines.push_back(machine_of(row));
  }
  return listed;
}

void lock_account_tally(pg::Connection& db, std::string_view token_hash) {
  pg::write(db, sql::account_tally_lock, pqxx::params{pg::bytes_of(token_hash)});
}

Result<Machine> create_machine(pg::Connection& db, std::string_view token_hash, const NewMachine& machine) {
  try {
    const auto rows =
        pg::write(db, sql::machine_create,
                  pqxx::params{pg::bytes_of(token_hash), MachineId::make().text(), machine.name,
                               machine.cpu_cores, machine.ram_mb, machine.disc_mb,
                               machine.price_per_cpu_second.micro(), limits::kMachinesPerAccountMax});
    if (rows.empty()) return no_valid_token();
    if (!rows[0]["id"].is_null()) return machine_of(rows[0]);
    return refuse(Code::quota_exceeded,
                  std::format("an account has at most {} machines, with those that were removed within a day",
                              limits::kMachinesPerAccountMax));
  } catch (const pg::ConstraintViolated& violated) {
    if (violated.constraint() != "machine_name_is_unique_for_its_owner") throw;
    return refuse(Code::invalid_field, "you have a machine named " + machine.name + " already", "name");
  }
}

Result<Machine> view_machine(pg::Connection& db, std::string_view token_hash, MachineId id) {
  const auto rows = pg::read(db, sql::machine_view, pqxx::params{pg::bytes_of(token_hash), id.text()});
  if (auto refusal = refusal_in(rows, id)) return *refusal;
  return machine_of(rows[0]);
}

Result<MachinePage> list_machines(pg::Connection& db, std::string_view token_hash, int page,
                                  int rows_a_page) {
  const auto rows =
      pg::read(db, sql::machine_list, pqxx::params{pg::bytes_of(token_hash), page, rows_a_page});
  if (rows.empty()) return no_valid_token();
  return machine_page_of(rows, rows_a_page);
}

Result<Machine> pause_machine(pg::Connection& db, std::string_view token_hash,
                              const std::optional<MachineId>& id, bool paused) {
  pqxx::params params{pg::bytes_of(token_hash)};
  params.append(id ? std::optional{id->text()} : std::nullopt);
  params.append(paused);
  const auto rows = pg::write(db, sql::machine_pause, params);
  if (rows.empty()) return no_valid_token();
  if (!rows[0]["id"].is_null())
    return view_machine(db, token_hash, MachineId::parse(rows[0]["id"].view()).value());
  if (id) return no_machine(*id);
  return refuse(Code::invalid_field, "machine must name one of your machines", "machine");
}

Result<MachineHealth> machine_health(pg::Connection& db, std::string_view token_hash) {
  const auto rows = pg::read(db, sql::machine_health, pqxx::params{pg::bytes_of(token_hash)});
  if (rows.empty()) return no_valid_token();
  const auto count = [&](const char* state) { return rows[0][state].as<std::int64_t>(); };
  return MachineHealth{count("idle"), count("busy"), count("paused"), count("offline"), count("banned")};
}

void lock_machine_session(pg::Connection& db, std::string_view token_hash, MachineId id) {
  pg::write(db, sql::machine_session_lock, pqxx::params{pg::bytes_of(token_hash), id.text()});
}

Result<LockedMachine> lock_machine(pg::Connection& db, std::string_view token_hash, MachineId id) {
  const auto rows = pg::write(db, sql::machine_lock, pqxx::params{pg::bytes_of(token_hash), id.text()});
  if (auto refusal = refusal_in(rows, id)) return *refusal;
  return LockedMachine{rows[0]["ban_reason"].as<std::optional<std::string>>()};
}

std::optional<AccountId> remove_as_admin(pg::Connection& db, std::string_view token_hash, MachineId id) {
  const auto rows =
      pg::write(db, sql::admin_remove_machine, pqxx::params{pg::bytes_of(token_hash), id.text()});
  if (rows.empty()) return std::nullopt;
  return AccountId::parse(rows[0]["caller"].view());
}

void delete_removed_machines(pg::Connection& db) {
  delete_old_rows(db, sql::machine_delete_removed);
}

bool remove_idle_machine(pg::Connection& db, MachineId id) {
  return !pg::write(db, sql::machine_remove, pqxx::params{id.text()}).empty();
}

MachineToken issue_token(pg::Connection& db, MachineId id, std::string_view machine_token_hash,
                         std::chrono::seconds lifetime, const std::optional<std::string>& public_key) {
  pqxx::params params{id.text(), pg::bytes_of(machine_token_hash), lifetime.count()};
  params.append(public_key ? std::optional{pg::bytes_of(*public_key)} : std::nullopt);
  const auto row = pg::write(db, sql::machine_start, params).one_row();
  return MachineToken{AccountId::parse(row["account_id"].view()).value(), row["issued_at"].as<std::string>(),
                      row["expires_at"].as<std::string>()};
}

}  // namespace remotist::market
