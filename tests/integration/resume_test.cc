// Jobs go on from checkpoints: what the next attempt is told and inherits, and what the one before is paid.
#include <doctest/doctest.h>
#include <format>

#include "core/chunk.h"
#include "core/limits.h"
#include "market/store/ledger.h"
#include "tests/support/checkpoints.h"
#include "worker/store/dispatch.h"
#include "worker/store/reaping.h"

using namespace remotist;
using namespace std::chrono_literals;
using nlohmann::json;
using test::CheckpointedJob;
using test::manifest;

namespace {

const json kWatches{{"partial_results_vars", {"x"}}};

// A checkpoint with so much CPU time and this number of x's last record.
json manifest_at(int number, const std::string& chunk, std::int64_t cpu_ms, std::optional<int> watched = {}) {
  auto said = manifest(number, {chunk});
  said["attempt_cpu_ms"] = cpu_ms;
  if (watched) said["watched"] = {{"x", *watched}};
  return said;
}

json skipped(int sequence, const char* reason = "damaged") {
  return json::array({{{"sequence", sequence}, {"reason", reason}}});
}

void check_ledger(const CheckpointedJob& job) {
  pg::Connection db{job.database_url()};
  for (const auto& invariant : market::audit_ledger(db))
    CHECK_MESSAGE(!invariant.broken_by, invariant.name << ": " << invariant.broken_by.value_or(""));
}

// The machines that the queued job excludes, of these.
std::vector<MachineId> excluded(const CheckpointedJob& job, const std::vector<test::TestMachine>& machines) {
  std::vector<worker::Machine> snapshot;
  for (const auto& each : machines) {
    snapshot.push_back({.machine_session = MachineSessionId::make(),
                        .machine = MachineId::parse(each.id).value(),
                        .free = {1, 4096, 4096},
                        .total = {1, 4096, 4096},
                        .price_per_cpu_second = Credits::micro(0),
                        .reserved_for = std::nullopt});
  }
  pg::Connection db{job.database_url()};
  return worker::lock_named_jobs(db, {JobId::parse(job.job).value()}, snapshot).at(0).excluded;
}

test::TestMachine with_software(const CheckpointedJob& job, const std::string& r_version,
                                const std::string& architecture, const std::string& packages) {
  auto machine = test::make_machine(job.database_url(), job.owner);
  job.execute(
      std::format("UPDATE machine SET r_version = '{}', architecture = '{}', packages = '{}' WHERE id = '{}'",
                  r_version, architecture, packages, machine.id));
  return machine;
}

}  // namespace

TEST_CASE(
    "a lost attempt is paid for what its checkpoint covers when another one goes on from it, and once") {
  CheckpointedJob job;
  const auto lender = job.lender.id;
  CHECK(job.recorded(manifest_at(1, job.upload("one"), 100'000)) == 1);
  CHECK(job.recorded(manifest_at(2, job.upload("two"), 200'000)) == 2);
  job.end(AttemptOutcome::lost);
  CHECK(job.balance_of(lender) == 0);
  job.run();
  CHECK(job.balance_of(lender) == 0);
  CHECK(job.resume(2).status == 204);
  CHECK(job.balance_of(lender) == 200'000);  // 200 s at 1000 micro-credits
  CHECK(job.resume(2).status == 204);
  CHECK(job.resume(1).status == 204);  // the first report counts
  CHECK(job.balance_of(lender) == 200'000);
  check_ledger(job);
  const auto attempts = job.attempts();
  CHECK(attempts[0]["paid_micro"] == 200'000);
  CHECK(attempts[0]["saved_cpu_ms"] == 200'000);
  CHECK(attempts[0]["outcome"] == "lost");
  CHECK(attempts[0]["resumed_from"].is_null());
  CHECK(attempts[1]["resumed_from"] == 2);
  CHECK(attempts[1]["paid_micro"] == 0);

  // The next one is lost without a checkpoint: going on from the same pays nothing more.
  const auto second = job.lender.id;
  job.end(AttemptOutcome::lost);
  job.run();
  CHECK(job.resume(2).status == 204);
  CHECK(job.balance_of(lender) == 200'000);
  CHECK(job.balance_of(second) == 0);
  // The CPU time of checkpoints counts from the job's start.
  CHECK(job.recorded(manifest_at(1, job.upload("three"), 50'000)) == 3);
  CHECK(job.kept()[0]["cpu_ms"] == 250'000);
  const auto third = job.lender.id;
  job.end(AttemptOutcome::handed_back);
  job.run();
  CHECK(job.resume(3).status == 204);
  CHECK(job.balance_of(third) == 50'000);
  check_ledger(job);
  // The rest goes back when the job ends.
  job.end(AttemptOutcome::completed);
  CHECK(job.balance_of(job.owner.id) == 100'000'000 - 250'000);
  check_ledger(job);
}

TEST_CASE("an attempt that was paid for an earlier checkpoint is paid the difference for a later one") {
  CheckpointedJob job;
  const auto lender = job.lender.id;
  CHECK(job.recorded(manifest_at(1, job.upload("one"), 100'000)) == 1);
  CHECK(job.recorded(manifest_at(2, job.upload("two"), 250'000)) == 2);
  job.end(AttemptOutcome::lost);
  job.run();
  CHECK(job.resume(1, skipped(2)).status == 204);
  CHECK(job.balance_of(lender) == 100'000);
  // Not by itself: what was passed over is not usable any more.
  job.end(AttemptOutcome::lost);
  job.execute("UPDATE checkpoint SET unusable_because = NULL");
  job.run();
  CHECK(job.resume(2).status == 204);
  CHECK(job.balance_of(lender) == 250'000);
  CHECK(job.attempts()[0]["saved_cpu_ms"] == 250'000);
  check_ledger(job);
}

TEST_CASE("the owner's own machine earns nothing, and what the escrow has left bounds the pay") {
  CheckpointedJob job{{{"price", 0.15}}};
  const auto lender = job.lender.id;
  CHECK(job.recorded(manifest_at(1, job.upload("one"), 100'000)) == 1);
  job.end(AttemptOutcome::lost);
  job.run();
  const auto second = job.lender.id;
  const auto usable = job.usable();
  CHECK(usable[0]["cpu_ms_max"] ==
        50'000);  // 0.15 credits, less 0.1, buy that of a machine at 0.001 a second
  CHECK(job.resume(1).status == 204);
  CHECK(job.balance_of(lender) == 100'000);
  CHECK(job.recorded(manifest_at(1, job.upload("two"), 90'000)) == 2);
  job.end(AttemptOutcome::lost);
  job.run_on(test::make_machine(job.database_url(), job.owner));
  CHECK(job.usable()[0]["cpu_ms_max"] == 0);
  CHECK(job.resume(2).status == 204);
  CHECK(job.balance_of(second) == 50'000);  // of 90,000
  CHECK(job.number("SELECT balance_micro FROM ledger_account WHERE kind = 'escrow'") == 0);
  check_ledger(job);
  // Now the owner's own.
  const auto before = job.balance_of(job.owner.id);
  CHECK(job.recorded(manifest_at(1, job.upload("three"), 10'000)) == 3);
  job.end(AttemptOutcome::lost);
  job.run();
  CHECK(job.resume(3).status == 204);
  CHECK(job.balance_of(job.owner.id) == before);
  CHECK(job.attempts()[2]["saved_cpu_ms"] == 10'000);
  check_ledger(job);
}

TEST_CASE("a job that is cancelled after a checkpoint was paid returns the rest, and nothing is paid twice") {
  CheckpointedJob job;
  const auto lender = job.lender.id;
  CHECK(job.recorded(manifest_at(1, job.upload("one"), 100'000)) == 1);
  job.end(AttemptOutcome::lost);
  job.run();
  CHECK(job.resume(1).status == 204);
  job.end(AttemptOutcome::lost);
  REQUIRE(job.as_owner("POST", "/cancel").status == 200);
  CHECK(job.balance_of(lender) == 100'000);
  CHECK(job.balance_of(job.owner.id) == 100'000'000 - 100'000);
  check_ledger(job);
}

TEST_CASE(
    "an assignment's CPU time is what the rest of the escrow buys, and it says whether there is a "
    "checkpoint") {
  CheckpointedJob job;
  const auto assigned = [&](const char* column) {
    return job.number(std::format("SELECT {}::bigint FROM assignment WHERE ended_at IS NULL", column));
  };
  CHECK(assigned("cpu_ms_max") == 1'000'000);
  CHECK(assigned("resumable::int") == 1);
  CHECK(assigned("resume::int") == 0);
  CHECK(job.recorded(manifest_at(1, job.upload("one"), 100'000)) == 1);
  job.end(AttemptOutcome::lost);
  job.run();
  CHECK(assigned("resume::int") == 1);
  CHECK(job.resume(1).status == 204);
  CHECK(assigned("cpu_ms_max") == 900'000);
  job.end(AttemptOutcome::lost);
  job.run();
  CHECK(job.resume(0, skipped(1)).status == 204);
  CHECK(assigned("resume::int") == 0);
}

TEST_CASE("what a machine could not resume is skipped for good, with its reason") {
  CheckpointedJob job;
  for (int number = 1; number <= 3; ++number)
    CHECK(job.recorded(manifest(number, {job.upload(std::to_string(number))})) == number);
  job.end(AttemptOutcome::lost);
  job.run();
  // It has to say so before its own checkpoints count.
  CHECK(job.record(manifest(1, {ChunkName::of("1").hex()})).code() == "wrong_state");
  CHECK(job.resume(9).json()["field"] == "sequence");
  CHECK(job.resume(1, skipped(3, "the file is damaged")).status == 204);
  const auto kept = job.kept();
  CHECK(kept[0]["usable"] == false);
  CHECK(kept[0]["why"] == "the file is damaged");
  CHECK(kept[1]["why"] == "attempt 2 went on from checkpoint 1");
  CHECK(kept[2]["usable"] == true);
  CHECK(job.shown()["resume_problem"] == "the file is damaged");
  CHECK(job.attempts()[1]["skipped"] == skipped(3, "the file is damaged"));
  CHECK(job.call("GET", job.path("/checkpoint/3")).code() == "not_found");
  CHECK(job.usable().size() == 1);
  // A new checkpoint takes the place of those, not of the one that is good.
  CHECK(job.recorded(manifest(1, {job.upload("four")})) == 4);
  CHECK(job.kept().size() == 2);
  CHECK(job.kept()[1]["sequence"] == 1);
  job.end(AttemptOutcome::lost);
  job.run();
  CHECK(job.resume(3).json()["field"] == "sequence");
  CHECK(job.resume(4).status == 204);
  CHECK(job.shown()["resume_problem"].is_null());
  // Its own it cannot have gone on from.
  CHECK(job.recorded(manifest(1, {job.upload("five")})) == 5);
  job.end(AttemptOutcome::lost);
  job.run();
  CHECK(job.resume(0, skipped(5, "needs R 4.5")).status == 204);
  CHECK(job.usable().empty());
  CHECK(job.shown()["resume_problem"] == "needs R 4.5");
}

TEST_CASE("reports of an attempt may skip sixteen checkpoints and no more") {
  CheckpointedJob job;
  CHECK(job.recorded(manifest(1, {job.upload("one")})) == 1);
  job.end(AttemptOutcome::lost);
  job.run();
  auto many = json::array();
  for (std::size_t i = 0; i <= limits::kCheckpointsSkippedMax; ++i)
    many.push_back({{"sequence", i + 1}, {"reason", "r"}});
  CHECK(job.resume(0, many).code() == "invalid_field");
  many.erase(0);
  CHECK(job.resume(0, many).status == 204);
}

TEST_CASE("records up to the checkpoint stay, those after it are superseded, exactly at the number") {
  CheckpointedJob job{kWatches};
  job.watch({1, 2, 3, 5, 6});  // sequences 1 … 5
  CHECK(job.recorded(manifest_at(1, job.upload("one"), 0, 3)) == 1);
  CHECK(job.superseded().empty());
  job.end(AttemptOutcome::lost);
  CHECK(job.superseded() == std::vector{4, 5});
  CHECK(job.live() == 3);
  CHECK(job.as_owner("GET", "/partialResults/x").json()["sequence"] == 3);
  job.run();
  CHECK(job.resume(1).status == 204);
  CHECK(job.live() == 3);
  job.watch({1, 2});  // 6, 7
  CHECK(job.live() == 7);
  // A number between two records: the last one before it.
  CHECK(job.recorded(manifest_at(1, job.upload("two"), 0, 1)) == 2);
  job.end(AttemptOutcome::lost);
  CHECK(job.superseded() == std::vector{4, 5, 7});
  CHECK(job.live() == 6);
  // The attempt goes on from the older one: all of the second attempt is superseded.
  job.run();
  CHECK(job.resume(1, skipped(2)).status == 204);
  CHECK(job.superseded() == std::vector{4, 5, 6, 7});
  CHECK(job.live() == 3);
  // And afresh.
  job.end(AttemptOutcome::lost);
  job.run();
  CHECK(job.resume(0, skipped(1)).status == 204);
  CHECK(job.superseded() == std::vector{1, 2, 3, 4, 5, 6, 7});
  CHECK(job.live() == 0);
  job.watch({1});
  CHECK(job.live() == 8);
  job.end(AttemptOutcome::completed);
  CHECK(job.live() == 8);
}

TEST_CASE("a variable that had no record at the checkpoint has none after it") {
  CheckpointedJob job{kWatches};
  CHECK(job.recorded(manifest_at(1, job.upload("one"), 0)) == 1);
  job.watch({1, 2});
  job.end(AttemptOutcome::lost);
  CHECK(job.superseded() == std::vector{1, 2});
  CHECK(job.live() == 0);
}

TEST_CASE(
    "without a checkpoint all records of a lost attempt are superseded, and all stay when the job ends") {
  CheckpointedJob job{kWatches};
  job.watch({1});
  job.end(AttemptOutcome::lost);
  CHECK(job.superseded() == std::vector{1});
  job.run();
  job.watch({1});
  REQUIRE(job.as_owner("POST", "/cancel").status == 200);
  CHECK(job.superseded() == std::vector{1});
  CHECK(job.live() == 2);
}

TEST_CASE("the progress of a queued job is that of its newest checkpoint") {
  CheckpointedJob job;
  auto said = manifest(1, {job.upload("one")});
  said["progress"] = {{"fraction", 0.25}, {"message", "a quarter"}};
  CHECK(job.recorded(said) == 1);
  job.execute("UPDATE job SET progress = 0.75, progress_message = 'more'");
  job.end(AttemptOutcome::lost);
  CHECK(job.shown()["progress"] == 0.25);
  CHECK(job.shown()["progress_message"] == "a quarter");
  job.run();
  CHECK(job.resume(1).status == 204);
  CHECK(job.recorded(manifest(1, {job.upload("two")})) == 2);
  job.end(AttemptOutcome::lost);
  CHECK(job.shown()["progress"].is_null());
}

TEST_CASE("a job with a checkpoint waits for a machine that can resume it, and then any machine gets it") {
  CheckpointedJob job;
  auto said = manifest(1, {job.upload("one")});
  said["packages"] = {"MASS 7.3-65", "nnet 7.3-20"};
  CHECK(job.recorded(said) == 1);
  const auto able = with_software(job, "4.5.2", "x86_64", "{nnet 7.3-20,lattice 0.22,MASS 7.3-65}");
  const std::vector unable{with_software(job, "4.4.3", "x86_64", "{MASS 7.3-65,nnet 7.3-20}"),
                           with_software(job, "4.5.0", "aarch64", "{MASS 7.3-65,nnet 7.3-20}"),
                           with_software(job, "4.5.0", "x86_64", "{MASS 7.3-65}"),
                           with_software(job, "4.5.0", "x86_64", "{MASS 7.3-64,nnet 7.3-20}"),
                           with_software(job, "", "", "{}")};
  auto all = unable;
  all.push_back(able);
  job.end(AttemptOutcome::lost);
  CHECK(job.shown()["resume_until"].is_string());
  CHECK(job.number("SELECT ceil(extract(epoch FROM resume_until - now()))::bigint FROM job") <=
        limits::kResumeWaitSeconds);
  CHECK(job.number("SELECT ceil(extract(epoch FROM resume_until - now()))::bigint FROM job") >
        limits::kResumeWaitSeconds - 60);
  CHECK(excluded(job, all).size() == unable.size());
  CHECK(excluded(job, {able}).empty());
  CHECK(excluded(job, {unable[3]}).size() == 1);
  job.execute("UPDATE job SET resume_until = now() - interval '1 ms'");
  CHECK(excluded(job, all).empty());
  CHECK(job.shown()["resume_until"].is_null());
}

TEST_CASE("a machine that lost a job is excluded from it, unless it had recorded a checkpoint") {
  CheckpointedJob job;
  const auto first = job.machine;
  job.end(AttemptOutcome::lost);
  CHECK(excluded(job, {first}).size() == 1);
  job.run();
  const auto second = job.machine;
  job.execute("UPDATE machine SET r_version = '4.5.0', architecture = 'x86_64' WHERE id = '" + second.id +
              "'");
  CHECK(job.recorded(manifest(1, {job.upload("one")})) == 1);
  job.end(AttemptOutcome::lost);
  CHECK(excluded(job, {second}).empty());
}

TEST_CASE("losses count from the last checkpoint: a job that gets on is not given up") {
  CheckpointedJob job;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < limits::kLossesMax - 1; ++i) {
      job.end(AttemptOutcome::lost);
      job.run();
    }
    CHECK(job.resume(round).status == 204);
    CHECK(job.recorded(manifest(1, {job.upload(std::to_string(round))})) == round + 1);
    CHECK(job.number("SELECT losses FROM job") == 0);
  }
  for (int i = 0; i < limits::kLossesMax; ++i) {
    CHECK(job.shown()["state"] == "running");
    job.end(AttemptOutcome::lost);
    if (i + 1 < limits::kLossesMax) job.run();
  }
  CHECK(job.shown()["failure_code"] == "lost_too_often");
  check_ledger(job);
}

TEST_CASE("the names of machines are shown to their owners and admins only") {
  CheckpointedJob job;
  CHECK(job.attempts()[0]["machine_name"].is_null());
  CHECK(job.attempts()[0]["machine"] == job.machine.id);
  job.end(AttemptOutcome::lost);
  job.run_on(test::make_machine(job.database_url(), job.owner));
  CHECK(job.attempts()[1]["machine_name"].is_string());
  job.execute("UPDATE account SET role = 'admin' WHERE id = '" + job.owner.id + "'");
  CHECK(job.attempts()[0]["machine_name"].is_string());
  const auto page = job.as_owner("GET", "/attempts?per_page=1").json();
  CHECK(page["attempts"].size() == 1);
  CHECK(page["more"] == true);
  CHECK(job.as_owner("GET", "/attempts?per_page=1&page=2").json()["attempts"][0]["number"] == 2);
}
