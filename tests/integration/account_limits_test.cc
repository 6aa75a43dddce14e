// How much an account may have and do, each limit at its value and one past it; and what it is told of it.
#include <doctest/doctest.h>

#include "core/limits.h"
#include "tests/support/agent.h"
#include "tests/support/dispatch.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"

using namespace remotist;
using nlohmann::json;
using test::DispatchStack;
using test::eventually;

namespace {

struct Client {
  const DispatchStack& stack;
  test::Http http{stack.market().url()};
  const std::string& token = stack.client().token;

  test::HttpAnswer create(bool submit, const std::string& key = {}, const json& more = json::object()) {
    json body{{"name", "j"}, {"exec_file", "m.R"}, {"code", "1"}, {"submit", submit}, {"price", 0.5}};
    body.update(more);
    std::vector<std::string> headers;
    if (!key.empty()) headers.push_back("Idempotency-Key: " + key);
    return http.send("PUT", "/job/", body, token, headers);
  }
  std::string made(bool submit) {
    const auto answer = create(submit);
    REQUIRE_MESSAGE(answer.status == 201, answer.body);
    return answer.json()["id"];
  }
  test::HttpAnswer post(const std::string& job, const std::string& what) {
    return http.send("POST", "/job/" + job + "/" + what, json::object(), token);
  }
  int remove(const std::string& job) {
    return http.call("DELETE", "/job/" + job, {}, {"Authorization: Bearer " + token}).status;
  }
};

}  // namespace

TEST_CASE(
    "an account has so many jobs that are not submitted, and one that is submitted or deleted makes room") {
  const DispatchStack stack{{{"UPLOADING_JOBS_PER_ACCOUNT_MAX", "3"}}};
  Client client{stack};
  const auto first = client.made(false);
  const auto second = client.made(false);
  const auto third = client.create(false, "key");
  CHECK(third.status == 201);
  CHECK(client.create(false).code() == "quota_exceeded");
  CHECK(client.create(false, "key").json()["id"] == third.json()["id"]);  // made before: nothing new
  CHECK(client.create(true).status == 201);
  CHECK(client.post(first, "submit").status == 200);
  CHECK(client.create(false).status == 201);
  CHECK(client.remove(second) == 204);
  CHECK(client.create(false).status == 201);
  CHECK(client.create(false).code() == "quota_exceeded");
  CHECK(client.post(third.json()["id"], "cancel").status == 200);
  CHECK(client.create(false).status == 201);
  CHECK(stack.number("SELECT count(*) FROM account_tally t WHERE jobs <> (SELECT count(*) FROM job j WHERE "
                     "j.account_id = t.account_id) OR uploading_jobs <> (SELECT count(*) FROM job j WHERE "
                     "j.account_id = t.account_id AND state = 'uploading')") == 0);
}

TEST_CASE("an account has so many jobs, and those that have ended count until they are deleted") {
  const DispatchStack stack{{{"JOBS_PER_ACCOUNT_MAX", "3"}}};
  Client client{stack};
  const auto first = client.made(true);
  client.made(true);
  client.made(false);
  CHECK(client.create(true).code() == "quota_exceeded");
  CHECK(client.create(false).code() == "quota_exceeded");
  CHECK(client.post(first, "cancel").status == 200);
  CHECK(client.create(true).code() == "quota_exceeded");
  CHECK(client.remove(first) == 204);
  CHECK(client.create(true).status == 201);
  CHECK(client.create(true).code() == "quota_exceeded");
  // Another account has its own.
  const auto other = stack.newcomer();
  CHECK(stack.submit({}, other) != "");
  stack.check();
}

TEST_CASE("an account submits so many jobs an hour, whatever becomes of them") {
  const DispatchStack stack{{{"SUBMISSIONS_PER_ACCOUNT_HOUR_MAX", "3"}}};
  Client client{stack};
  const auto kept = client.made(false);
  const auto late = client.made(false);
  for (int i = 0; i < 2; ++i) {
    const auto job = client.made(true);
    CHECK(client.post(job, "cancel").status == 200);
    CHECK(client.remove(job) == 204);
  }
  CHECK(client.post(kept, "submit").status == 200);
  CHECK(client.create(true).code() == "rate_limited");
  const auto refused = client.post(late, "submit");
  CHECK(refused.code() == "rate_limited");
  CHECK(stack.state_of(late) == "uploading");
  CHECK(client.create(false).status == 201);
  stack.execute("UPDATE account_tally SET hour = hour - interval '1 hour'");
  CHECK(client.post(late, "submit").status == 200);
  CHECK(client.create(true).status == 201);
  stack.check();
}

TEST_CASE("a job that nobody goes on with is removed, one that still gets files is not") {
  const DispatchStack stack;
  Client client{stack};
  const auto forgotten = client.made(false);
  const auto young = client.made(false);
  const auto touched = client.made(false);
  const std::string week = std::to_string(limits::kUploadingSecondsMax);
  stack.execute("UPDATE job_file SET created_at = created_at - interval '" + week + " s' WHERE job_id <> '" +
                touched + "'");
  stack.execute("UPDATE job SET created_at = created_at - interval '" + week + " s' WHERE id <> '" + young +
                "'");
  REQUIRE(eventually([&] { return client.http.get("/job/" + forgotten, client.token).status == 404; }));
  CHECK(stack.state_of(young) == "uploading");
  CHECK(stack.state_of(touched) == "uploading");
}

TEST_CASE("what an account holds in escrow is told, and is nothing when its jobs have ended") {
  const DispatchStack stack;
  Client client{stack};
  const auto held = [&] { return client.http.get("/user/", client.token).json()["held"]; };
  CHECK(held() == 0);
  const auto first = client.made(true);
  client.made(true);
  CHECK(held() == 1);
  CHECK(client.post(first, "cancel").status == 200);
  CHECK(held() == 0.5);
  // A machine that takes all of it.
  test::Agent agent{stack.socket_url(), stack.lend({.price_micro_per_cpu_second = 1'000}).token};
  agent.send_hello();
  const auto assignment = agent.take_job();
  stack.execute(
      "UPDATE attempt SET price_micro_per_cpu_second = 1000000000, accepted_at = accepted_at - interval '1 "
      "hour'");
  agent.complete(assignment.attempt, 3'600'000);
  agent.await_acknowledged();
  CHECK(held() == 0);
  CHECK(stack.balance_of(stack.client()) == DispatchStack::kGrant - 500'000);
  stack.check();
}

TEST_CASE("a list of jobs has what fits a line of each") {
  const DispatchStack stack;
  Client client{stack};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < limits::kWatchedVariablesMax; ++i)
    names.push_back("v" + std::to_string(100 + i) + std::string(limits::kVariableNameBytesMax - 4, 'x'));
  constexpr std::size_t kJobs = 60;
  for (std::size_t i = 0; i < kJobs; ++i)
    REQUIRE(client.create(false, {}, {{"partial_results_vars", names}}).status == 201);
  const auto listed = client.http.get("/job/?per_page=200", client.token);
  REQUIRE(listed.json()["jobs"].size() == kJobs);
  CHECK(listed.body.size() < kJobs * 1000);
  const auto first = listed.json()["jobs"][0];
  for (const char* field : {"partial_results_vars", "failure_detail", "progress_message"})
    CHECK_FALSE(first.contains(field));
  CHECK(client.http.get("/job/" + first["id"].get<std::string>(), client.token)
            .json()["partial_results_vars"] == names);
}
