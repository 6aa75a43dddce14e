// From an attempt that a worker has begun to the assignment that its machine is sent.
#include "market/store/assignments.h"

#include <doctest/doctest.h>
#include <fstream>
#include <future>
#include <pqxx/pqxx>

#include "core/limits.h"
#include "core/token.h"
#include "market/service/open_machine_session.h"
#include "market/store/jobs.h"
#include "tests/support/agent.h"
#include "tests/support/database.h"
#include "tests/support/dispatch.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"
#include "tests/support/volunteers.h"

using namespace remotist;
using namespace std::chrono_literals;
using market::BegunAttempt;
using test::Agent;
using test::DispatchStack;
using test::eventually;

namespace {

// A machine that is connected, and attempts that a worker has begun for it.
struct Lent {
  test::Database database;
  const std::string& url = database.url();
  test::TestAccount owner = test::make_account(url, 1'000'000'000);
  test::TestMachine machine = test::make_machine(url, owner);
  pg::Connection db{url};
  ConnectionId connection = ConnectionId::make();
  MachineSessionId session = say_hello(db, connection).machine_session;

  market::OpenedMachineSession say_hello(pg::Connection& with, ConnectionId from,
                                         std::vector<protocol::AttemptKey> holds = {}) const {
    const market::MachineHello hello{.machine = MachineId::parse(machine.id).value(),
                                     .token_hash = token_hash(machine.token),
                                     .market = MarketId::make(),
                                     .connection = from,
                                     .lease = 1h,
                                     .loss_mean = 24h,
                                     .message = {{protocol::kVersion}, "test", true, std::move(holds)}};
    return market::open_machine_session(with, hello).value();
  }

  BegunAttempt begin(const std::string& code = "1") {
    market::NewJob job;
    job.name = "j";
    job.exec_file = "main.R";
    job.code = code;
    job.watched_variables = {"x"};
    job.price = Credits::micro(1000);
    job.submit = true;
    const auto id = market::create_job(db, owner.token_hash, job, {}, RequestId::make()).value().id;
    execute("UPDATE job SET state = 'assigned', attempt_number = 1 WHERE id = '" + id.text() + "'");
    execute(
        "INSERT INTO attempt (job_id, number, machine_id, machine_session_id, price_micro_per_cpu_second) "
        "VALUES ('" +
        id.text() + "', 1, '" + machine.id + "', '" + session.text() + "', 1)");
    return {session, connection, {id, 1}};
  }
  // What is to be sent for this one.
  std::optional<protocol::Assignment> assignment_of(const BegunAttempt& attempt) {
    return market::begin_assignments(db, {attempt}).front();
  }
  void execute(const std::string& statement) const {
    pqxx::connection connected{url};
    pqxx::nontransaction{connected}.exec(statement);
  }
  bool is_token_of(const BegunAttempt& attempt, const std::string& token) const {
    pqxx::connection connected{url};
    const std::string hash = token_hash(token);
    return pqxx::nontransaction{connected}.query_value<bool>(
        "SELECT token_hash IS NOT DISTINCT FROM $2 FROM attempt WHERE job_id = $1",
        pqxx::params{attempt.name.job.text(), pqxx::binary_cast(hash)});
  }
  bool somebody_waits_for_a_lock() const {
    pqxx::connection connected{url};
    return pqxx::nontransaction{connected}.query_value<bool>(
        "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND "
        "wait_event_type = 'Lock')");
  }
};

// A line of the workers' log with all of these words; empty when there is none.
std::string line_of_worker(const std::vector<std::string>& words) {
  std::ifstream log{test::env("REMOTIST_STATE") + "/log/own_worker.log"};
  for (std::string line; std::getline(log, line);) {
    const auto has = [&](const std::string& word) { return line.contains(word); };
    if (std::ranges::all_of(words, has)) return line;
  }
  return {};
}

}  // namespace

TEST_CASE("attempts get their tokens once, in one statement, and those that are not to be sent get none") {
  Lent lent;
  const auto first = lent.begin("first");
  const auto second = lent.begin(std::string(limits::kAssignedFilesBytesMax + 1, '#'));
  const auto ended = lent.begin();
  lent.execute("UPDATE attempt SET ended_at = now(), outcome = 'refused' WHERE job_id = '" +
               ended.name.job.text() + "'");
  auto elsewhere = lent.begin();
  elsewhere.connection = ConnectionId::make();
  auto of_another = lent.begin();
  of_another.machine_session = MachineSessionId::make();
  auto unknown = lent.begin();
  unknown.name.number = 2;

  const auto sent =
      market::begin_assignments(lent.db, {ended, first, elsewhere, of_another, unknown, second, first});
  REQUIRE(sent.size() == 7);
  for (const std::size_t none : {0, 2, 3, 4}) CHECK_FALSE(sent[none]);
  CHECK(sent[1].has_value() != sent[6].has_value());  // it is named twice
  const auto& one = sent[1] ? *sent[1] : *sent[6];
  CHECK(one.attempt.name == first.name);
  CHECK(lent.is_token_of(first, one.attempt.token));
  CHECK(one.exec_file == "main.R");
  CHECK(one.watched_variables == std::vector<std::string>{"x"});
  CHECK(one.cpu_ms_max == 1'000'000);
  REQUIRE(one.files.size() == 1);
  CHECK(one.files[0].bytes == "first");
  REQUIRE(sent[5]);
  CHECK(sent[5]->attempt.name == second.name);
  CHECK(lent.is_token_of(second, sent[5]->attempt.token));
  CHECK(sent[5]->files.empty());

  CHECK_FALSE(lent.assignment_of(first));
  CHECK(lent.is_token_of(first, one.attempt.token));
  lent.execute("UPDATE machine_session SET evicted = true");
  CHECK_FALSE(lent.assignment_of({lent.session, lent.connection, elsewhere.name}));
}

TEST_CASE("a hello makes the tokens of the attempts that wait for one, and no second one is made") {
  Lent lent;
  auto attempt = lent.begin();
  const auto again = ConnectionId::make();
  const auto opened = lent.say_hello(lent.db, again);
  REQUIRE(opened.assign.size() == 1);
  CHECK(lent.is_token_of(attempt, opened.assign[0].attempt.token));
  CHECK_FALSE(lent.assignment_of(attempt));
  attempt.connection = again;
  CHECK_FALSE(lent.assignment_of(attempt));
  CHECK(lent.is_token_of(attempt, opened.assign[0].attempt.token));
}

TEST_CASE("a hello keeps an attempt with its token, and replaces a token that did not arrive") {
  Lent lent;
  const auto arrived = lent.assignment_of(lent.begin()).value();
  const auto attempt = lent.begin();
  const auto lost = lent.assignment_of(attempt).value();
  const auto opened = lent.say_hello(lent.db, ConnectionId::make(), {arrived.attempt});
  CHECK(opened.keep == std::vector{arrived.attempt.name});
  REQUIRE(opened.assign.size() == 1);
  CHECK(opened.assign[0].attempt.name == attempt.name);
  CHECK(opened.assign[0].attempt.token != lost.attempt.token);
  CHECK(lent.is_token_of(attempt, opened.assign[0].attempt.token));
}

TEST_CASE("the token of a hello counts also when an assignment makes one at the same time") {
  Lent lent;
  const auto attempt = lent.begin();
  std::optional<protocol::Assignment> first;
  std::future<market::OpenedMachineSession> hello;
  lent.db.transact([&] {
    first = lent.assignment_of(attempt);
    hello = std::async(std::launch::async, [&] {
      pg::Connection other{lent.url};
      return lent.say_hello(other, ConnectionId::make());
    });
    CHECK(eventually([&] { return lent.somebody_waits_for_a_lock(); }));
  });
  REQUIRE(first);
  const auto opened = hello.get();
  REQUIRE(opened.assign.size() == 1);
  CHECK(lent.is_token_of(attempt, opened.assign[0].attempt.token));
}

TEST_CASE("an assignment leaves an attempt to the hello that has it locked, and does not wait") {
  Lent lent;
  const auto attempt = lent.begin();
  pqxx::connection connection{lent.url};
  pqxx::work hello{connection};
  hello.exec("UPDATE attempt SET token_hash = sha256('hello')");
  CHECK_FALSE(lent.assignment_of(attempt));
  hello.commit();
  CHECK(lent.is_token_of(attempt, "hello"));
}

TEST_CASE("a machine is sent all its assignments of a group in one message") {
  const DispatchStack stack;
  const auto machine = stack.lend({.cpu_cores = 4, .ram_mb = 16'384, .disc_mb = 16'384});
  for (int i = 0; i < 4; ++i) stack.submit({});
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  CHECK(agent.hear<protocol::Assign>().jobs.size() == 4);
  stack.check();
}

TEST_CASE("an assignment that the market could not make is in the answer to the machine's next hello") {
  const DispatchStack stack{{}, {{"ACCEPT_MS", "60000"}}};
  const auto machine = stack.lend({});
  stack.execute(
      "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no token today'; END $$;"
      "CREATE TRIGGER fail BEFORE UPDATE OF token_hash ON attempt FOR EACH ROW EXECUTE FUNCTION fail()");
  std::optional<Agent> agent;
  agent.emplace(stack.socket_url(), machine.token);
  agent->send_hello();
  const auto job = stack.submit({});
  CHECK(agent->close_code() == 1001);
  stack.execute("DROP TRIGGER fail ON attempt");
  agent.emplace(stack.socket_url(), machine.token);
  agent->send_hello();
  const auto assignment = agent->take_job();
  CHECK(assignment.attempt.name.job.text() == job);
  agent->complete(assignment.attempt);
  agent->await_acknowledged();
  CHECK(stack.state_of(job) == "completed");
  stack.check();
}

TEST_CASE("the id of the request that submitted a job comes with its assignment and is in the worker's log") {
  const DispatchStack stack{{}, {{"ACCEPT_MS", "60000"}}};
  const auto machine = stack.lend({});
  test::Http http{stack.market().url()};
  const auto& token = stack.client().token;
  std::optional<Agent> agent;
  agent.emplace(stack.socket_url(), machine.token);
  agent->send_hello();
  const auto check = [&](const protocol::Assignment& assignment, const std::string& request) {
    REQUIRE(assignment.request_id);
    CHECK(assignment.request_id->text() == request);
    const auto job = assignment.attempt.name.job.text();
    CHECK(line_of_worker({"event=job_assigned", "job=" + job, "request=" + request}) != "");
  };
  nlohmann::json body{{"name", "j"}, {"exec_file", "main.R"}, {"code", "1"}, {"submit", true}};

  const auto created = http.send("PUT", "/job/", body, token);
  auto assignment = agent->hear_assignment();
  check(assignment, created.headers.at("x-request-id"));
  // A hello is answered with it as well.
  agent.emplace(stack.socket_url(), machine.token);
  agent->send_hello();
  assignment = agent->take_job();
  check(assignment, created.headers.at("x-request-id"));
  agent->complete(assignment.attempt);

  body["submit"] = false;
  const std::string path = "/job/" + http.send("PUT", "/job/", body, token).json()["id"].get<std::string>();
  const auto submitted = http.send("POST", path + "/submit", nlohmann::json::object(), token);
  REQUIRE(submitted.status == 200);
  assignment = agent->take_job();
  check(assignment, submitted.headers.at("x-request-id"));
  agent->complete(assignment.attempt);
  agent->await_acknowledged();

  // Also when the message to the workers is lost, and a scan finds the job.
  stack.execute(
      "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;"
      "CREATE TRIGGER lose BEFORE INSERT ON outbox FOR EACH ROW WHEN (NEW.request_id IS NOT NULL) EXECUTE "
      "FUNCTION lose()");
  body["submit"] = true;
  const auto lost = http.send("PUT", "/job/", body, token);
  REQUIRE(agent->beats_until({}, [&] { return stack.state_of(lost.json()["id"]) == "assigned"; }));
  check(agent->hear_assignment(), lost.headers.at("x-request-id"));
  stack.check();
}
