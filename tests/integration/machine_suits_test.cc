// Whether a machine suits a job: the SQL function machine_suits(), as the queries of a worker call it,
// compared with Matcher; and that the planner inlines it.
#include <algorithm>
#include <array>
#include <doctest/doctest.h>
#include <format>
#include <pqxx/pqxx>
#include <random>
#include <set>

#include "core/attempt_outcome.h"
#include "sql_queries.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "worker/matching/matching.h"
#include "worker/store/dispatch.h"

using namespace remotist;
using namespace std::chrono_literals;
using worker::Machine;
using worker::Matcher;
using worker::WaitingJob;

namespace {

constexpr std::size_t kJobs = 8;
constexpr int kRounds = 150;

// One machine with a session, another one without, and queued jobs, each of an account of its own. Every
// round changes all of them.
class Market {
 public:
  explicit Market(unsigned seed) : engine_(seed) {
    write("INSERT INTO account (id, email, password_hash) VALUES ($1, 'lender@example.org', 'none')",
          {lender_.text()});
    for (const MachineId machine : machines_) {
      write(
          "INSERT INTO machine (id, account_id, name, cpu_cores, ram_mb, disc_mb, "
          "price_micro_per_cpu_second) "
          "VALUES ($1::uuid, $2, $1::uuid || '', 1, 1, 1, 0)",
          {machine.text(), lender_.text()});
    }
    write(
        "INSERT INTO machine_session (id, machine_id, market_id, cpu_cores_free, ram_mb_free, disc_mb_free) "
        "VALUES ($1, $2, gen_random_uuid(), 1, 1, 1)",
        {session_.text(), machines_[0].text()});
    for (std::size_t i = 0; i < kJobs; ++i) {
      const auto& job = jobs_.emplace_back(JobId::make(), AccountId::make(), worker::Amounts{}, Credits{},
                                           std::vector<MachineId>{});
      write(
          "INSERT INTO account (id, email, password_hash) VALUES ($1::uuid, $1::uuid || '@example.org', "
          "'none')",
          {job.account.text()});
      write(
          "INSERT INTO job (id, account_id, name, exec_file, state, cpu_cores, ram_mb, disc_mb, price_micro, "
          "submitted_at, rank) VALUES ($1, $2, 'j', 'main.R', 'queued', 1, 1, 1, 0, now() - interval '1 "
          "hour', "
          "now())",
          {job.id.text(), job.account.text()});
    }
  }

  void change_all() {
    write("DELETE FROM attempt", {});
    change_machine();
    for (auto& job : jobs_) change(job);
  }

  MachineSessionId session() const { return session_; }
  const std::vector<WaitingJob>& jobs() const { return jobs_; }
  // Its deadline has passed. Only SQL knows: a late job is in no snapshot.
  bool is_late(const WaitingJob& job) const { return late_.contains(job.id); }
  std::vector<AccountId> accounts() const {
    std::vector<AccountId> all;
    for (const auto& job : jobs_) all.push_back(job.account);
    return all;
  }
  const std::string& url() const { return database_.url(); }

 private:
  std::int64_t between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>{least, most}(engine_);
  }
  bool once_in(std::int64_t times) { return between(1, times) == 1; }

  void write(const std::string& statement, const pqxx::params& params) {
    pqxx::nontransaction{connection_}.exec(statement, params);
  }

  // Small numbers, so that each condition is often the only one that fails, or is just met.
  void change_machine() {
    std::array<std::int64_t, 3> total{}, free{};
    for (std::size_t i = 0; i < total.size(); ++i) {
      total[i] = between(2, 6);
      free[i] = between(once_in(3) ? 0 : 2, total[i]);
    }
    machine_price_ = once_in(8) ? between(1, 9) * 100'000'000'000'000'000 : between(0, 5);
    std::optional<std::string> reserved_for;
    if (once_in(4)) reserved_for = jobs_[static_cast<std::size_t>(between(0, kJobs - 1))].id.text();
    if (once_in(10)) reserved_for = JobId::make().text();
    r_version_ = once_in(3) ? "4.4.3" : "4.5.1";
    write("UPDATE machine SET cpu_cores = $1, ram_mb = $2, disc_mb = $3, r_version = $4 WHERE id = $5",
          {total[0], total[1], total[2], r_version_, machines_[0].text()});
    write(
        "UPDATE machine_session SET cpu_cores_free = $1, ram_mb_free = $2, disc_mb_free = $3, "
        "price_micro_per_cpu_second = $4, reserved_for = $5, taking_jobs = $6, "
        "seen_at = now() + make_interval(secs => $7)",
        {free[0], free[1], free[2], machine_price_, reserved_for, !once_in(12), once_in(12) ? -20 : 3600});
  }

  void change(WaitingJob& job) {
    const std::int64_t cores = between(1, 4);
    job.needs = {cores, between(1, 4), between(1, 4)};
    job.price = Credits::micro(std::clamp<std::int64_t>(
        machine_price_ > 5 ? between(0, 1'000'000'000'000'000) : machine_price_ * cores + between(-2, 6), 0,
        1'000'000'000'000'000));
    late_.erase(job.id);
    if (once_in(8)) late_.insert(job.id);
    const std::int64_t attempts = once_in(2) ? between(1, 3) : 0;
    write(
        "UPDATE job SET cpu_cores = $1, ram_mb = $2, disc_mb = $3, price_micro = $4, attempt_number = $5, "
        "deadline = now() + make_interval(secs => $6::int) WHERE id = $7",
        {job.needs.cpu_cores, job.needs.ram_mb, job.needs.disc_mb, job.price.micro(), attempts,
         is_late(job) ? std::optional{-1}
         : once_in(2) ? std::optional{3600}
                      : std::nullopt,
         job.id.text()});
    job.excluded.clear();
    for (std::int64_t number = 1; number <= attempts; ++number) add_attempt(job, number);
    set_resume(job, attempts > 0 && once_in(2));
  }

  // It has a checkpoint of an R 4.5 and waits, or has waited, for a machine with that.
  void set_resume(WaitingJob& job, bool has_checkpoint) {
    const bool waits = has_checkpoint && once_in(2);
    write(
        "UPDATE job SET resume_r = CASE WHEN $1 THEN '4.5.0' END, resume_architecture = CASE WHEN $1 THEN '' "
        "END, "
        "resume_packages = CASE WHEN $1 THEN '{}'::text[] END, "
        "resume_until = CASE WHEN $1 THEN now() + make_interval(secs => $2) END WHERE id = $3",
        {has_checkpoint, waits ? 3600 : -1, job.id.text()});
    if (waits && r_version_ == "4.4.3") job.excluded.push_back(machines_[0]);
  }

  void add_attempt(WaitingJob& job, std::int64_t number) {
    const auto& outcomes = outcome_table();
    const auto& row = outcomes[static_cast<std::size_t>(between(0, std::ssize(outcomes) - 1))];
    const MachineId machine = machines_[once_in(3) ? 1 : 0];
    const std::chrono::seconds age = once_in(2) ? between(0, 30) * 1s : between(70, 100'000) * 1s;
    const bool recorded = once_in(3);
    write(
        "INSERT INTO attempt (job_id, number, machine_id, machine_session_id, token_hash, ended_at, outcome, "
        "checkpoints) "
        "VALUES ($1, $2, $3, $4, sha256(''), now() - make_interval(secs => $5), $6::attempt_outcome, $7)",
        {job.id.text(), number, machine.text(), session_.text(), age.count(), row.name, recorded ? 1 : 0});
    // Only those of the machines in question are wanted.
    const bool readmitted = recorded && row.checkpoint_readmits;
    if (machine == machines_[0] && age < row.excludes_machine && !readmitted) job.excluded.push_back(machine);
  }

  test::Database database_;
  pqxx::connection connection_{database_.url()};
  std::mt19937 engine_;
  AccountId lender_ = AccountId::make();
  std::array<MachineId, 2> machines_{MachineId::make(), MachineId::make()};
  MachineSessionId session_ = MachineSessionId::make();
  std::int64_t machine_price_ = 0;
  std::string r_version_;
  std::vector<WaitingJob> jobs_;
  std::set<JobId> late_;
};

std::set<MachineId> set_of(const std::vector<MachineId>& machines) {
  return {machines.begin(), machines.end()};
}

bool has(const auto& rows, JobId job, auto member) {
  return std::ranges::contains(rows, job, member);
}

}  // namespace

TEST_CASE("the database and the matcher agree on which machine suits which job") {
  const unsigned seed = test::seed();
  CAPTURE(seed);
  Market market{seed};
  pg::Connection db{market.url(), {.durable = false, .by_index = true}};
  int suited = 0, reservable = 0;
  for (int round = 0; round < kRounds; ++round) {
    CAPTURE(round);
    market.change_all();
    const auto machines = worker::lock_all_sessions(db, {market.session()});
    const bool reserved =
        std::ranges::any_of(machines, &std::optional<JobId>::has_value, &Machine::reserved_for);
    const auto best = worker::lock_best_jobs(db, market.accounts(), 1, machines);
    const auto overdue = worker::overdue_jobs(db, market.accounts(), 1s, kJobs);
    for (const auto& job : market.jobs()) {
      CAPTURE(job.id.text());
      const auto named = worker::lock_named_jobs(db, {job.id}, machines);
      const bool late = market.is_late(job);
      REQUIRE(named.empty() == late);
      // A machine that takes no jobs is in no snapshot.
      if (!late && !machines.empty()) CHECK(set_of(named[0].excluded) == set_of(job.excluded));

      const bool suits = !late && Matcher{machines}.place(job).has_value();
      CHECK(!worker::sessions_for(db, {job.id}).empty() == suits);
      // A job for which the machine is reserved is locked by its name.
      CHECK(has(best, job.id, &WaitingJob::id) == (suits && !reserved));
      const bool may_reserve = !late && Matcher{machines}.reserve(job).has_value();
      CHECK(has(overdue, job.id, &worker::OverdueJob::job) == may_reserve);
      suited += suits ? 1 : 0;
      reservable += may_reserve ? 1 : 0;
    }
  }
  constexpr int kPairs = kRounds * static_cast<int>(kJobs);
  for (const int verdicts : {suited, reservable}) {
    CHECK(verdicts > kPairs / 20);
    CHECK(verdicts < kPairs * 19 / 20);
  }
}

TEST_CASE("a price buys as many seconds at least in the database as in the matcher") {
  const test::Database database;
  pqxx::connection connection{database.url()};
  CHECK(pqxx::nontransaction{connection}.query_value<std::int64_t>("SELECT paid_seconds_min()") ==
        worker::kPaidSecondsMin);
}

TEST_CASE("the planner inlines the rules of dispatch, and finds affordable machines by index") {
  const test::Database database;
  pqxx::connection connection{database.url() + "&options=-c%20enable_seqscan%3Doff"};
  pqxx::nontransaction tx{connection};
  const auto plan_of = [&](const pg::Query& query) {
    std::string plan;
    for (const auto& row : tx.exec(std::format("EXPLAIN (GENERIC_PLAN) {}", query.text)))
      plan += row[0].as<std::string>() + '\n';
    return plan;
  };
  for (const pg::Query& query : sql::kAllQueries) {
    if (!query.name.starts_with("dispatch_")) continue;
    CAPTURE(query.name);
    const auto plan = plan_of(query);
    CAPTURE(plan);
    for (const char* function : {"machine_suits(", "job_is_late(", "machine_session_is_open(",
                                 "attempt_excludes(", "machine_can_resume(", "r_minor_version("})
      CHECK(plan.find(function) == std::string::npos);
  }
  const auto offers = plan_of(sql::dispatch_offers);
  CAPTURE(offers);
  CHECK(offers.find("using machine_session_offering") != std::string::npos);
  CHECK(offers.find("Index Cond: (price_micro_per_cpu_second <= ") != std::string::npos);
}
