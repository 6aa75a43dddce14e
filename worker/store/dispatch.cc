#include "worker/store/dispatch.h"

#include <map>

#include "core/pg/arrays.h"
#include "core/pg/statement.h"
#include "sql_queries.h"

namespace remotist::worker {
namespace {

// For each kind of job.
constexpr int kOffersMax = 64;

template <class Id>
Id id_in(const pqxx::row& row, const char* column) {
  return Id::parse(row[column].view()).value();
}

template <class Id>
std::vector<Id> ids_in(const pqxx::result& rows, const char* column) {
  std::vector<Id> ids;
  for (const auto& row : rows) ids.push_back(id_in<Id>(row, column));
  return ids;
}

Machine machine_of(const pqxx::row& row) {
  Machine machine{
      .machine_session = id_in<MachineSessionId>(row, "id"),
      .machine = id_in<MachineId>(row, "machine_id"),
      .free = {row["cpu_cores_free"].as<std::int64_t>(), row["ram_mb_free"].as<std::int64_t>(),
               row["disc_mb_free"].as<std::int64_t>()},
      .total = {row["cpu_cores"].as<std::int64_t>(), row["ram_mb"].as<std::int64_t>(),
                row["disc_mb"].as<std::int64_t>()},
      .price_per_cpu_second = Credits::micro(row["price_micro_per_cpu_second"].as<std::int64_t>()),
      .reserved_for = std::nullopt};
  if (!row["reserved_for"].is_null()) machine.reserved_for = id_in<JobId>(row, "reserved_for");
  return machine;
}

std::vector<Machine> machines_of(const pqxx::result& rows) {
  std::vector<Machine> machines;
  for (const auto& row : rows) machines.push_back(machine_of(row));
  return machines;
}

// With those of the machines that each excludes.
std::vector<WaitingJob> jobs_of(pg::Connection& db, const pqxx::result& rows,
                                const std::vector<Machine>& machines) {
  std::vector<WaitingJob> jobs;
  std::map<JobId, std::size_t> tried;
  for (const auto& row : rows) {
    jobs.push_back({.id = id_in<JobId>(row, "id"),
                    .account = id_in<AccountId>(row, "account_id"),
                    .needs = {row["cpu_cores"].as<std::int64_t>(), row["ram_mb"].as<std::int64_t>(),
                              row["disc_mb"].as<std::int64_t>()},
                    .price = Credits::micro(row["price_micro"].as<std::int64_t>()),
                    .excluded = {}});
    if (row["attempt_number"].as<int>() > 0) tried.emplace(jobs.back().id, jobs.size() - 1);
  }
  if (tried.empty()) return jobs;
  const auto ids = pg::uuid_array(tried, [](const auto& each) { return each.first; });
  const auto among = pg::uuid_array(machines, &Machine::machine);
  for (const auto& row : pg::read(db, sql::dispatch_excluded, pqxx::params{ids, among})) {
    jobs[tried.at(id_in<JobId>(row, "job_id"))].excluded.push_back(id_in<MachineId>(row, "machine_id"));
  }
  return jobs;
}

std::vector<BegunAttempt> assign(pg::Connection& db, const Snapshot& snapshot,
                                 const std::vector<Plan::Pair>& pairs) {
  std::vector<BegunAttempt> begun;
  if (pairs.empty()) return begun;
  const auto rows = pg::write(
      db, sql::dispatch_assign,
      pqxx::params{pg::uuid_array(pairs, [&](const auto& pair) { return snapshot.jobs[pair.job].id; }),
                   pg::uuid_array(pairs, [&](const auto& pair) {
                     return snapshot.machines[pair.machine].machine_session;
                   })});
  for (const auto& row : rows) {
    begun.push_back({.market = id_in<MarketId>(row, "market_id"),
                     .attempt = {id_in<MachineSessionId>(row, "machine_session_id"),
                                 {id_in<JobId>(row, "job_id"), row["number"].as<int>()}},
                     .request_id = std::nullopt});
    if (!row["request_id"].is_null()) begun.back().request_id = id_in<RequestId>(row, "request_id");
  }
  return begun;
}

}  // namespace

std::vector<MachineSessionId> sessions_for(pg::Connection& db, const std::vector<JobId>& jobs) {
  if (jobs.empty()) return {};
  return ids_in<MachineSessionId>(
      pg::read(db, sql::dispatch_offers, pqxx::params{pg::uuid_array(jobs), kOffersMax}), "id");
}

std::vector<MachineSessionId> offering_sessions(pg::Connection& db, std::size_t at_most) {
  return ids_in<MachineSessionId>(pg::read(db, sql::dispatch_offering, pqxx::params{at_most}), "id");
}

std::vector<Machine> lock_offering_sessions(pg::Connection& db, const std::vector<MachineSessionId>& sessions,
                                            IfLocked if_locked) {
  const auto ids = pg::uuid_array(sessions);
  if (if_locked == IfLocked::wait) pg::write(db, sql::dispatch_sessions_lock, pqxx::params{ids});
  return machines_of(pg::write(db, sql::dispatch_sessions, pqxx::params{ids, false}));
}

std::vector<Machine> lock_all_sessions(pg::Connection& db, const std::vector<MachineSessionId>& sessions) {
  return machines_of(pg::write(db, sql::dispatch_sessions, pqxx::params{pg::uuid_array(sessions), true}));
}

std::vector<AccountId> accounts_after(pg::Connection& db, AccountId after, std::size_t at_most) {
  return ids_in<AccountId>(pg::read(db, sql::dispatch_accounts, pqxx::params{after.text(), at_most}),
                           "account_id");
}

std::vector<WaitingJob> lock_best_jobs(pg::Connection& db, const std::vector<AccountId>& accounts,
                                       std::size_t of_each, const std::vector<Machine>& machines) {
  std::vector<Machine> open;
  for (const auto& machine : machines) {
    if (!machine.reserved_for) open.push_back(machine);
  }
  if (open.empty() || accounts.empty()) return {};
  const auto rows = pg::write(
      db, sql::dispatch_jobs,
      pqxx::params{
          pg::uuid_array(accounts), of_each, pg::uuid_array(open, &Machine::machine),
          pg::array_of(open, [](const Machine& each) { return each.free.cpu_cores; }),
          pg::array_of(open, [](const Machine& each) { return each.free.ram_mb; }),
          pg::array_of(open, [](const Machine& each) { return each.free.disc_mb; }),
          pg::array_of(open, [](const Machine& each) { return each.price_per_cpu_second.micro(); })});
  return jobs_of(db, rows, machines);
}

std::vector<WaitingJob> lock_named_jobs(pg::Connection& db, const std::vector<JobId>& jobs,
                                        const std::vector<Machine>& machines) {
  if (jobs.empty()) return {};
  return jobs_of(db, pg::write(db, sql::dispatch_named_jobs, pqxx::params{pg::uuid_array(jobs)}), machines);
}

std::vector<OverdueJob> overdue_jobs(pg::Connection& db, const std::vector<AccountId>& accounts,
                                     std::chrono::seconds reserve_after, std::size_t at_most) {
  std::vector<OverdueJob> jobs;
  const auto rows = pg::read(db, sql::dispatch_overdue,
                             pqxx::params{pg::uuid_array(accounts), reserve_after.count(), at_most});
  for (const auto& row : rows) {
    const auto job = id_in<JobId>(row, "id");
    if (jobs.empty() || jobs.back().job != job) jobs.push_back({job, {}});
    jobs.back().sessions.push_back(id_in<MachineSessionId>(row, "machine_session_id"));
  }
  return jobs;
}

std::vector<BegunAttempt> apply(pg::Connection& db, const Snapshot& snapshot, const Plan& plan) {
  auto begun = assign(db, snapshot, plan.assignments);
  const auto& reserved = plan.reservations;
  if (!reserved.empty()) {
    pg::write(
        db, sql::dispatch_reserve,
        pqxx::params{
            pg::uuid_array(reserved,
                           [&](const auto& pair) { return snapshot.machines[pair.machine].machine_session; }),
            pg::uuid_array(reserved, [&](const auto& pair) { return snapshot.jobs[pair.job].id; })});
  }
  return begun;
}

void release_reservations(pg::Connection& db, const std::vector<MachineSessionId>& sessions) {
  if (sessions.empty()) return;
  pg::write(db, sql::dispatch_release, pqxx::params{pg::uuid_array(sessions)});
}

}  // namespace remotist::worker
