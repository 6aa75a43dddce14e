// Who is charged for what machines upload, and until when.
#include <doctest/doctest.h>

#include "core/chunk.h"
#include "core/json.h"
#include "core/limits.h"
#include "tests/support/agent.h"
#include "tests/support/dispatch.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"
#include "tests/support/watched_job.h"

using namespace remotist;
using test::Agent;
using test::DispatchStack;
using test::eventually;

namespace {

// A machine that has a job, and uploads for it.
struct Uploading {
  DispatchStack stack;
  DispatchStack::Machine machine = stack.lend({});
  Agent agent{stack.socket_url(), machine.token};
  std::string job;
  std::optional<protocol::Assignment> assignment;
  test::Http http{stack.market().url()};

  Uploading() {
    agent.send_hello();
    job = stack.submit({});
    assignment = agent.take_job();
  }
  std::vector<std::string> headers() const {
    const auto& [name, token] = assignment->attempt;
    return {"Authorization: Bearer " + machine.token,
            "Remotist-Attempt: " + name.job.text() + " " + std::to_string(name.number) + " " + token};
  }
  int put(const std::string& bytes) {
    return http.call("PUT", "/blob/" + ChunkName::of(bytes).hex(), bytes, headers()).status;
  }
  int name(const std::string& path, const std::string& bytes) {
    const nlohmann::json file{
        {"path", path}, {"size", bytes.size()}, {"chunks", {ChunkName::of(bytes).hex()}}};
    return http.call("POST", "/job/" + job + "/output", file.dump(), headers()).status;
  }
  std::int64_t used() const {
    return stack.number("SELECT used_bytes FROM storage WHERE account_id = '" + stack.client().id + "'");
  }
};

// A job with one watched variable, for which machines may bring kShare bytes.
struct Sharing {
  static constexpr std::int64_t kShare = 80'000;
  static constexpr std::int64_t kHistory = kShare / limits::kHistoryShare;
  static constexpr std::int64_t kRecord = 256;  // what a record counts beside its value
  test::WatchedJob job{{"x"}};
  std::int64_t number = 0;

  Sharing() {
    job.stack.execute("UPDATE storage SET quota_bytes = " + std::to_string(kShare) +
                      " WHERE job_id IS NOT NULL");
  }
  // A value that counts so many bytes.
  WatchedRecord value(std::int64_t bytes) {
    return test::value_of("x", ++number, std::string(static_cast<std::size_t>(bytes - kRecord), 'v'));
  }
  std::int64_t history() const { return job.stack.number("SELECT bytes FROM watched_variable"); }
  int put(std::int64_t bytes, char fill) const {
    const std::string chunk(static_cast<std::size_t>(bytes), fill);
    return test::Http{job.stack.market().url()}
        .call("PUT", "/blob/" + ChunkName::of(chunk).hex(), chunk, job.machine_headers())
        .status;
  }
};

}  // namespace

TEST_CASE(
    "what a machine uploads is its client's from the first byte, and nobody's when it gives the job back") {
  Uploading one;
  const auto before = one.used();
  const std::string named(500'000, 'a');
  const std::string left(300'000, 'b');
  REQUIRE(one.put(named) == 204);
  CHECK(one.used() == before + 500'000);
  REQUIRE(one.name("r", named) == 204);
  CHECK(one.used() == before + 500'000);
  REQUIRE(one.put(left) == 204);
  CHECK(one.used() == before + 800'000);
  one.agent.say(protocol::Outcome{.attempt = one.assignment->attempt, .kind = AttemptOutcome::handed_back});
  one.agent.await_acknowledged();
  CHECK(eventually([&] { return one.used() == before; }));
  CHECK(one.stack.number("SELECT count(*) FROM blob WHERE check_after > now()") == 0);
  one.stack.check();
}

TEST_CASE("of a completed job its files are charged, and what it uploaded besides is given back") {
  Uploading one;
  const auto before = one.used();
  const std::string named(500'000, 'a');
  REQUIRE(one.put(named) == 204);
  REQUIRE(one.put(std::string(300'000, 'b')) == 204);
  REQUIRE(one.name("r", named) == 204);
  one.agent.complete(one.assignment->attempt);
  one.agent.await_acknowledged();
  CHECK(eventually([&] { return one.used() == before + 500'000; }));
  REQUIRE(
      one.http.call("DELETE", "/job/" + one.job, {}, {"Authorization: Bearer " + one.stack.client().token})
          .status == 204);
  CHECK(one.used() < before);  // its code is gone too
  CHECK(one.stack.number("SELECT count(*) FROM blob WHERE check_after > now()") == 0);
}

TEST_CASE("a history that takes half of its job's share is whole, and one record more thins it") {
  Sharing one;
  for (std::int64_t bytes = 0; bytes < Sharing::kHistory; bytes += 4000) one.job.tell({one.value(4000)});
  CHECK(one.history() == Sharing::kHistory);
  CHECK(one.job.stack.number("SELECT count(*) FROM watched_record WHERE thinned") == 0);
  one.job.tell({one.value(4000)});
  CHECK(one.history() < Sharing::kHistory);
  CHECK(one.job.stack.number("SELECT count(*) FROM watched_record WHERE thinned") > 0);
  for (int i = 0; i < 50; ++i) one.job.tell({one.value(4000)});
  CHECK(one.history() <= Sharing::kHistory);
  CHECK(one.put(Sharing::kShare - Sharing::kHistory, 'r') == 204);
}

TEST_CASE(
    "a newest value fits half of its job's share, and with a byte more it is refused as it was before") {
  Sharing one;
  one.job.tell({one.value(1000)});
  one.job.tell({one.value(Sharing::kHistory)});
  CHECK(one.history() == Sharing::kHistory);
  const auto held = one.job.history("x");
  one.job.say({one.value(Sharing::kHistory + 1)});
  CHECK(one.job.agent->hear<protocol::Problem>().code == "quota_exceeded");
  CHECK(one.job.history("x") == held);
  CHECK(one.put(Sharing::kShare - Sharing::kHistory, 'r') == 204);
  CHECK(one.put(4096, 's') == 403);
}

TEST_CASE("a job that begins again has half of its share for the result, whatever its history takes") {
  Sharing one;
  one.job.tell({one.value(1000)});
  one.job.stack.execute("UPDATE watched_variable SET bytes = " + std::to_string(Sharing::kShare));
  one.job.stack.execute(
      "UPDATE storage SET quota_bytes = " + std::to_string(limits::kJobResultsShare * Sharing::kShare) +
      " WHERE account_id = '" + one.job.stack.client().id + "'");
  one.job.lose();
  CHECK(one.job.stack.number("SELECT kept_bytes FROM storage WHERE attempt_number = 2") == Sharing::kHistory);
  CHECK(one.put(Sharing::kShare - Sharing::kHistory, 'r') == 204);
  CHECK(one.put(4096, 's') == 403);
}

TEST_CASE("records of a lost attempt are deleted before a record of the current attempt is refused") {
  test::WatchedJob job{{"x", "y"}};
  job.stack.execute(
      "UPDATE storage SET quota_bytes = " + std::to_string(limits::kJobResultsShare * Sharing::kShare) +
      " WHERE account_id = '" + job.stack.client().id + "'");
  const auto value = [](std::string variable, std::int64_t number, std::int64_t bytes) {
    return test::value_of(std::move(variable), number,
                          std::string(static_cast<std::size_t>(bytes - Sharing::kRecord), 'v'));
  };
  job.tell({value("y", 1, Sharing::kHistory)});
  job.lose();
  job.tell({value("x", 1, 1000), value("x", 2, Sharing::kHistory - 1000)});
  CHECK(job.history("x").size() == 2);
  CHECK(job.history("y").empty());
  CHECK(job.stack.number("SELECT sum(bytes) FROM watched_variable") == Sharing::kHistory);
  // Sequences go on, so that a client that has seen the deleted records waits for newer ones.
  job.tell({value("y", 1, 300)});
  CHECK(job.history("y").front()["sequence"] == 2);
}
