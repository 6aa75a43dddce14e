// What workers tidy up: files of attempts that were nobody's result, and what a fault in one step leaves to
// the others.
#include <doctest/doctest.h>
#include <pqxx/pqxx>

#include "core/limits.h"
#include "core/token.h"
#include "market/service/put_job_files.h"
#include "market/service/record_reports.h"
#include "market/store/job_files.h"
#include "market/store/jobs.h"
#include "tests/support/database.h"
#include "tests/support/volunteers.h"
#include "worker/consumer/reaper.h"
#include "worker/store/reaping.h"

using namespace remotist;
using namespace std::chrono_literals;

namespace {

struct Attempts {
  test::Database database;
  const std::string& url = database.url();
  pg::Connection db{url};
  test::TestAccount client = test::make_account(url, 1'000'000);
  test::TestMachine machine = test::make_machine(url, test::make_account(url, 0));

  long long number(const std::string& query) const {
    pqxx::connection connection{url};
    return pqxx::nontransaction{connection}.query_value<long long>(query);
  }
  void execute(const std::string& statement) const {
    pqxx::connection connection{url};
    pqxx::nontransaction{connection}.exec(statement);
  }
  JobId create(bool submit, std::optional<std::chrono::seconds> deadline = {}) {
    market::NewJob job;
    job.name = "j";
    job.exec_file = "main.R";
    job.code = "1";
    job.deadline = deadline;
    job.submit = submit;
    return market::create_job(db, client.token_hash, job, {}, RequestId::make()).value().id;
  }
  // A machine runs it, brings that many files, and ends so.
  void run(JobId job, int files, AttemptOutcome outcome) {
    const auto attempt = test::run_on(url, job.text(), machine);
    std::vector<market::JobFile> made;
    for (int i = 0; i < files; ++i) made.push_back({.path = "f" + std::to_string(i), .size = 1, .text = "x"});
    const market::UserOrAttempt caller{token_hash(machine.token),
                                       market::AttemptClaim{job, attempt.number, token_hash(attempt.token)}};
    REQUIRE(market::put_files(db, caller, job, market::FileRole::made, made).ok());
    const market::Report report{
        MachineId::parse(machine.id).value(),
        {job, attempt.number},
        token_hash(attempt.token),
        market::AttemptEnded{.outcome = outcome, .failure_code = FailureCode::r_error}};
    REQUIRE(market::record_reports(db, {report}) == std::vector{true});
  }
  long long files_of(JobId job) const {
    return number("SELECT count(*) FROM job_file WHERE attempt_number IS NOT NULL AND job_id = '" +
                  job.text() + "'");
  }
  long long used() const {
    return number("SELECT used_bytes FROM storage WHERE account_id = '" + client.id + "'");
  }
};

}  // namespace

TEST_CASE("files of an attempt that gave its job back go, some at a time, and nobody else's do") {
  constexpr int kFiles = 2500;  // more than go at once
  Attempts some;
  const auto done = some.create(true);
  some.run(done, 3, AttemptOutcome::completed);
  const auto failed = some.create(true);
  some.run(failed, 2, AttemptOutcome::failed);
  const auto again = some.create(true);
  const auto before = some.used();
  some.run(again, kFiles, AttemptOutcome::handed_back);
  CHECK(some.used() > before);
  CHECK(some.number("SELECT count(*) FROM storage_released") == 1);

  const auto first = worker::empty_released_storages(some.db);
  CHECK(first > 0);
  CHECK(first < kFiles);
  CHECK(some.files_of(again) == kFiles - static_cast<long long>(first));
  // It is not forgotten before it is empty.
  CHECK(some.number("SELECT count(*) FROM storage_released") == 1);
  CHECK(worker::empty_released_storages(some.db) == kFiles - first);
  CHECK(worker::empty_released_storages(some.db) == 0);
  CHECK(some.files_of(again) == 0);
  CHECK(some.number("SELECT count(*) FROM storage_released") == 0);
  CHECK(some.used() == before);
  CHECK(some.number("SELECT sum(kept_bytes) FROM storage WHERE job_id = '" + again.text() + "'") == 0);
  CHECK(some.files_of(done) == 3);
  CHECK(some.files_of(failed) == 2);
  CHECK(some.number("SELECT count(*) FROM job_file WHERE role = 'code'") == 3);

  // What the next attempt brings stays.
  some.run(again, 4, AttemptOutcome::completed);
  CHECK(worker::empty_released_storages(some.db) == 0);
  CHECK(some.files_of(again) == 4);
}

TEST_CASE("a step of tidying that fails keeps a worker from nothing else") {
  Attempts some;
  const auto abandoned = some.create(false);
  some.execute("UPDATE job_file SET created_at = '2020-01-01'");
  some.execute("UPDATE job SET created_at = '2020-01-01'");
  const auto again = some.create(true);
  some.run(again, 3, AttemptOutcome::lost);
  const auto expired = some.create(true, 0s);
  some.execute(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$");
  some.execute("CREATE TRIGGER refuse BEFORE DELETE ON job FOR EACH ROW EXECUTE FUNCTION refuse()");

  worker::Reaper reaper{some.url, {.accept_time = 5s, .interval = 100ms}};
  CHECK_NOTHROW(reaper.run_once());
  const auto count = [&](JobId job, const std::string& what) {
    return some.number("SELECT count(*) FROM job WHERE id = '" + job.text() + "'" + what);
  };
  CHECK(count(expired, " AND state = 'expired'") == 1);
  CHECK(some.files_of(again) == 0);
  CHECK(count(abandoned, "") == 1);

  some.execute("DROP TRIGGER refuse ON job");
  CHECK_NOTHROW(reaper.run_once());
  CHECK(count(abandoned, "") == 0);
}
