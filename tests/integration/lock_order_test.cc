// Transactions that lock the same rows do so in the order of sql/queries/lock.sql: nothing that markets and
// workers do at once deadlocks, and what is counted adds up.
#include <atomic>
#include <doctest/doctest.h>
#include <functional>
#include <future>
#include <pqxx/pqxx>
#include <thread>

#include "core/digest.h"
#include "core/token.h"
#include "market/service/ban_machine.h"
#include "market/service/blobs.h"
#include "market/service/cancel_job.h"
#include "market/service/checkpoint_room.h"
#include "market/service/delete_job.h"
#include "market/service/put_job_files.h"
#include "market/service/record_checkpoint.h"
#include "market/service/record_reports.h"
#include "market/service/record_watched.h"
#include "market/service/remove_machine.h"
#include "market/service/resume_attempt.h"
#include "market/store/admin.h"
#include "market/store/audit.h"
#include "market/store/blobs.h"
#include "market/store/job_files.h"
#include "market/store/jobs.h"
#include "market/store/machines.h"
#include "tests/support/database.h"
#include "tests/support/eventually.h"
#include "tests/support/volunteers.h"
#include "worker/store/reaping.h"

using namespace remotist;
using namespace std::chrono_literals;
using market::UserOrAttempt;

namespace {

constexpr int kLockRounds = 50;
constexpr std::int64_t kChunkBytes = 5000;

// Two clients whose jobs everybody has in hand, in one order or the other.
struct Ground {
  test::Database database;
  const std::string& url = database.url();
  test::TestAccount clients[2] = {test::make_account(url, 1'000'000'000),
                                  test::make_account(url, 1'000'000'000)};
  test::TestAccount lender = test::make_account(url, 0);
  test::TestAccount admin = test::make_account(url, 0);

  Ground() {
    pg::Connection db{url};
    market::make_admin(db, AccountId::parse(admin.id).value());
  }

  long long number(const std::string& query) const {
    pqxx::connection connection{url};
    return pqxx::nontransaction{connection}.query_value<long long>(query);
  }
};

void require(bool ok) {
  if (!ok) throw std::runtime_error{"a step of the test was refused"};
}

JobId create(pg::Connection& db, const test::TestAccount& owner, bool submit,
             std::optional<std::chrono::seconds> deadline = {}) {
  market::NewJob job;
  job.name = "j";
  job.exec_file = "main.R";
  job.code = "1";
  job.price = Credits::micro(submit ? 1000 : 0);
  job.deadline = deadline;
  job.watched_variables = {"x"};
  job.submit = submit;
  return market::create_job(db, owner.token_hash, job, {}, RequestId::make()).value().id;
}

// A machine and the job that it has in hand.
struct Lent {
  const Ground& ground;
  const test::TestAccount& owner;  // of the job
  test::TestMachine machine = test::make_machine(ground.url, ground.lender);
  JobId job = JobId::make();
  test::TestAttempt attempt{};

  void begin(pg::Connection& db) {
    job = create(db, owner, true);
    run();
  }
  void run() { attempt = test::run_on(ground.url, job.text(), machine); }
  UserOrAttempt caller() const {
    return {token_hash(machine.token), market::AttemptClaim{job, attempt.number, token_hash(attempt.token)}};
  }
  ChunkName upload(pg::Connection& db) const {
    const auto chunk = ChunkName::of(random_bytes(16));
    require(market::record_chunk(db, caller(), {chunk, GenerationId::make()}, kChunkBytes, 100, 0s).ok());
    return chunk;
  }
  // Records a checkpoint with a chunk of its own.
  void checkpoint(pg::Connection& db, int number) const {
    auto bringer = caller();
    bringer.for_checkpoint = true;
    const auto chunk = ChunkName::of(random_bytes(16));
    require(market::record_checkpoint_chunk(db, bringer, {chunk, GenerationId::make()}, kChunkBytes, 100, 1h)
                .ok());
    market::CheckpointManifest manifest;
    manifest.number = number;
    manifest.format = 3;
    manifest.watched = {{"x", 1}};
    manifest.chunks = {chunk};
    require(market::record_checkpoint(db, caller(), job, manifest).ok());
  }
  void bring_file(pg::Connection& db) const {
    const auto chunk = upload(db);
    require(market::put_files(db, caller(), job, market::FileRole::output,
                              {{.path = "r", .size = kChunkBytes, .chunks = {chunk}}})
                .ok());
  }
  market::WatchedReport value(pg::Connection& db) const {
    return {.machine = MachineId::parse(machine.id).value(),
            .attempt = {job, attempt.number},
            .token_hash = token_hash(attempt.token),
            .records = {{.variable = "x",
                         .number = 1,
                         .changes = 1,
                         .age_ms = 0,
                         .size = kChunkBytes,
                         .chunks = {upload(db).hex()}}},
            .said_at_ms = 0};
  }
  market::Report ended(AttemptOutcome outcome) const {
    market::AttemptEnded ended{.outcome = outcome};
    if (outcome == AttemptOutcome::completed) ended.files = {{"output", "r", "1"}, {"log", "l", "2"}};
    return {MachineId::parse(machine.id).value(),
            {job, attempt.number},
            token_hash(attempt.token),
            std::move(ended)};
  }
};

void record(pg::Connection& db, const std::vector<market::Report>& reports) {
  for (const bool counts : market::record_reports(db, reports)) require(counts);
}

// A market's machines: they bring something, give the jobs back, bring more, and complete them.
void run_jobs(const Ground& ground, int first) {
  pg::Connection db{ground.url};
  Lent one{ground, ground.clients[first]};
  Lent two{ground, ground.clients[1 - first]};
  for (int i = 0; i < kLockRounds; ++i) {
    for (Lent* lent : {&one, &two}) {
      lent->begin(db);
      lent->bring_file(db);
      lent->upload(db);  // nothing will name it
      lent->checkpoint(db, 1);
    }
    record(db, {one.ended(AttemptOutcome::handed_back), two.ended(AttemptOutcome::handed_back)});
    for (Lent* lent : {&one, &two}) {
      lent->run();
      require(market::resume_attempt(db, lent->caller(), lent->job, {.sequence = i % 2}).ok());
      for (int number = 1; number <= 4; ++number) lent->checkpoint(db, number);
    }
    if (i % 2 == 0) one.bring_file(db);
    for (const auto& result : market::record_watched(db, {one.value(db), two.value(db)}))
      require(result.ok());
    record(db, {one.ended(AttemptOutcome::completed), two.ended(AttemptOutcome::completed)});
    for (const Lent* lent : {&one, &two})
      require(market::delete_job(db, lent->owner.token_hash, lent->job).ok());
  }
}

// A job that is deleted while its machine answers what it measured.
void stop_jobs(const Ground& ground) {
  pg::Connection db{ground.url};
  Lent lent{ground, ground.clients[0]};
  pqxx::connection connection{ground.url};
  for (int i = 0; i < kLockRounds; ++i) {
    lent.begin(db);
    pqxx::nontransaction{connection}.exec(
        "UPDATE attempt SET price_micro_per_cpu_second = 1 WHERE job_id = $1", pqxx::params{lent.job.text()});
    require(market::cancel_job(db, lent.owner.token_hash, lent.job, market::RequestOrigin{}).ok());
    auto deleted = std::async(std::launch::async, [&] {
      pg::Connection other{ground.url};
      return market::delete_job(other, lent.owner.token_hash, lent.job).ok();
    });
    record(db, {lent.ended(AttemptOutcome::cancelled)});
    require(deleted.get());
  }
}

void expire(const Ground& ground, int first) {
  pg::Connection db{ground.url};
  for (int i = 0; i < kLockRounds; ++i) {
    std::vector<std::pair<const test::TestAccount*, JobId>> jobs;
    for (int each = 0; each < 8; ++each) {
      const auto& owner = ground.clients[(first + each) % 2];
      jobs.emplace_back(&owner, create(db, owner, each % 4 == 3, 0s));
    }
    worker::expire_jobs(db);
    for (const auto& [owner, job] : jobs) {
      // Another worker may have it in hand.
      require(test::eventually([&] { return market::delete_job(db, owner->token_hash, job).ok(); }));
    }
  }
}

void abandon(const Ground& ground) {
  pg::Connection db{ground.url};
  pqxx::connection connection{ground.url};
  for (int i = 0; i < kLockRounds; ++i) {
    const auto job = create(db, ground.clients[i % 2], false);
    pqxx::nontransaction{connection}.exec(
        "WITH old AS (UPDATE job_file SET created_at = '2020-01-01' WHERE job_id = $1) "
        "UPDATE job SET created_at = '2020-01-01' WHERE id = $1",
        pqxx::params{job.text()});
    while (worker::remove_abandoned(db) > 0) {
    }
  }
}

// Machines with an open session whose owner pauses them while they are removed, or banned and released.
void pause_machines(const Ground& ground) {
  pg::Connection db{ground.url};
  for (int i = 0; i < kLockRounds; ++i) {
    Lent lent{ground, ground.clients[0]};
    lent.begin(db);
    record(db, {lent.ended(AttemptOutcome::completed)});
    require(market::delete_job(db, lent.owner.token_hash, lent.job).ok());
    const auto id = MachineId::parse(lent.machine.id).value();
    auto paused = std::async(std::launch::async, [&] {
      pg::Connection other{ground.url};
      // Refused once the machine is removed.
      for (int j = 0; j < 4; ++j)
        (void)market::pause_machine(other, ground.lender.token_hash, id, j % 2 == 0);
    });
    if (i % 2 == 0) {
      require(market::remove_machine(db, ground.lender.token_hash, id, {}).ok());
    } else {
      require(db.transact([&] { return market::ban_machine(db, ground.admin.token_hash, id, "test"); }).ok());
      require(db.transact([&] { return market::unban_machine(db, ground.admin.token_hash, id); }).ok());
    }
    paused.get();
  }
}

void sweep(const Ground& ground, const std::atomic<bool>& stop) {
  pg::Connection db{ground.url};
  while (!stop) {
    worker::empty_released_storages(db);
    market::collect_presences(db, 100, 0s);
    std::this_thread::sleep_for(1ms);
  }
}

// Everything at once, until the bounded ones are done; what one of them throws is thrown.
void run(const Ground& ground) {
  std::vector<std::future<void>> bounded;
  const auto start = [&](auto&&... call) { bounded.push_back(std::async(std::launch::async, call...)); };
  std::atomic<bool> stop = false;
  std::vector<std::future<void>> sweepers;
  for (int i = 0; i < 2; ++i)
    sweepers.push_back(std::async(std::launch::async, [&] { sweep(ground, stop); }));
  for (int first = 0; first < 2; ++first) {
    start([&, first] { run_jobs(ground, first); });
    start([&, first] { expire(ground, first); });
  }
  start([&] { stop_jobs(ground); });
  start([&] { abandon(ground); });
  start([&] { pause_machines(ground); });
  for (auto& each : bounded) each.wait();
  stop = true;
  for (auto& sweeper : sweepers) sweeper.wait();
  for (auto& each : bounded) each.get();
  for (auto& sweeper : sweepers) sweeper.get();
}

}  // namespace

TEST_CASE(
    "whatever markets and workers do to the same accounts at once, nothing deadlocks or is miscounted") {
  const Ground ground;
  run(ground);
  // A backend tells what it counted when it ends, at the latest.
  REQUIRE(test::eventually([&] {
    return ground.number(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> "
               "pg_backend_pid() AND backend_type = 'client backend'") == 0;
  }));
  CHECK(ground.number("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == 0);

  pg::Connection db{ground.url};
  while (worker::empty_released_storages(db) + market::collect_presences(db, 1000, 0s) > 0) {
  }
  CHECK(ground.number("SELECT count(*) FROM job") == 0);
  CHECK(ground.number("SELECT count(*) FROM account_tally WHERE jobs <> 0 OR uploading_jobs <> 0") == 0);
  CHECK(ground.number("SELECT count(*) FROM storage WHERE used_bytes <> 0 OR checkpoint_bytes <> 0 OR job_id "
                      "IS NOT NULL") == 0);
  CHECK(ground.number("SELECT count(*) FROM ledger_account WHERE held_micro <> 0 OR "
                      "(kind = 'escrow' AND balance_micro <> 0)") == 0);
  CHECK(ground.number("SELECT count(*) FROM settlement") == 0);
  test::check_ledger(ground.url);
}
