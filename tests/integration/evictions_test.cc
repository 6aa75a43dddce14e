// Accounts that an admin disables, and machines that one bans or removes: nothing of theirs goes on, and
// nobody else loses anything.
#include <doctest/doctest.h>
#include <future>
#include <thread>

#include "core/limits.h"
#include "core/token.h"
#include "market/store/accounts.h"
#include "market/store/admin.h"
#include "tests/support/agent.h"
#include "tests/support/dispatch.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"

using namespace remotist;
using namespace std::chrono_literals;
using nlohmann::json;
using test::Agent;
using test::DispatchStack;
using test::eventually;
using test::Http;

namespace {

const std::string kLive = "state IN ('uploading', 'queued', 'assigned', 'running')";

struct Admin {
  const DispatchStack& stack;
  test::TestAccount account = stack.newcomer();
  explicit Admin(const DispatchStack& given) : stack(given) {
    pg::Connection db{stack.market().database_url()};
    market::make_admin(db, AccountId::parse(account.id).value());
  }
  test::HttpAnswer post(const std::string& path, const json& body = json::object()) const {
    return Http{stack.market().url()}.send("POST", path, body, account.token);
  }
  int disable(const test::TestAccount& who) const {
    return post("/admin/users/" + who.id + "/disable").status;
  }
  int enable(const test::TestAccount& who) const { return post("/admin/users/" + who.id + "/enable").status; }
  int ban(const std::string& machine, const std::string& reason) const {
    return post("/admin/machines/" + machine + "/ban", {{"reason", reason}}).status;
  }
};

std::string fresh_user_token(const DispatchStack& stack, const test::TestAccount& account) {
  pg::Connection db{stack.market().database_url()};
  std::string token = fresh_token("user");
  REQUIRE(market::create_login_token(db, token_hash(token), AccountId::parse(account.id).value(), 1h));
  return token;
}

test::HttpAnswer start_volunteer(const DispatchStack& stack, const std::string& machine,
                                 const std::string& token) {
  return Http{stack.market().url()}.send("POST", "/machine/" + machine + "/startVolunteer", json::object(),
                                         token);
}

// By the message, or by its beat, whichever is first.
bool is_turned_away(Agent& agent) {
  const int code = agent.close_code();
  return code == 4003 || code == 4002;
}

std::int64_t live_jobs_of(const DispatchStack& stack, const test::TestAccount& account) {
  return stack.number("SELECT count(*) FROM job WHERE account_id = '" + account.id + "' AND " + kLive);
}

}  // namespace

TEST_CASE(
    "a disabled account's machines are closed at every market, and their jobs go to others without a loss") {
  const DispatchStack stack;
  // There only a message can close a socket soon: beats are looked at each half minute.
  const test::OwnMarket elsewhere{stack.market(), {{"BEAT_MS", "60000"}}};
  const Admin admin{stack};
  const auto bad = stack.lend({});
  Agent evicted{elsewhere.socket_url(), bad.token};
  evicted.send_hello();
  const auto job = stack.submit({});
  const auto first = evicted.take_job();

  CHECK(admin.disable(bad.owner) == 204);
  CHECK(evicted.close_code() == 4003);
  CHECK(test::socket_status(elsewhere.socket_url(), bad.token) == 401);
  CHECK(stack.output_status(job, bad, first.attempt) == 401);
  const auto good = stack.lend({});
  Agent other{stack.socket_url(), good.token};
  other.send_hello();
  std::optional<protocol::Assign> given;
  REQUIRE(other.beats_until({}, [&] { return (given = other.hear_if<protocol::Assign>(10ms)).has_value(); }));
  CHECK(given->jobs.front().attempt.name == protocol::AttemptName{first.attempt.name.job, 2});
  CHECK(stack.number("SELECT losses FROM job") == 0);
  CHECK(stack.number("SELECT count(*) FROM attempt WHERE outcome = 'handed_back' AND paid_micro = 0") == 1);
  stack.check();

  // Enabled again it may return; the tokens that it had stay ended.
  other.say(protocol::Accept{{given->jobs.front().attempt}});
  CHECK(admin.enable(bad.owner) == 204);
  CHECK(test::socket_status(elsewhere.socket_url(), bad.token) == 401);
  const auto started = start_volunteer(stack, bad.id, fresh_user_token(stack, bad.owner));
  REQUIRE(started.status == 200);
  Agent returned{elsewhere.socket_url(), started.json()["token"]};
  returned.send_hello();
  const auto next = stack.submit({});
  CHECK(returned.take_job().attempt.name.job.text() == next);
  stack.check();
}

TEST_CASE("a disabled account's jobs are cancelled in whatever state they are, and what was done is paid") {
  const DispatchStack stack;
  const Admin admin{stack};
  const auto lent = stack.lend({.price_micro_per_cpu_second = 1000});
  const auto bad = stack.newcomer();
  Agent agent{stack.socket_url(), lent.token};
  agent.send_hello();
  const auto running = stack.submit({}, bad);
  const auto assignment = agent.take_job();
  agent.beat({assignment.attempt}, 100);
  REQUIRE(eventually([&] { return stack.number("SELECT max(cpu_ms) FROM attempt") == 100; }));
  const auto queued = stack.submit({.cpu_cores = 8}, bad);
  const std::string uploading =
      Http{stack.market().url()}
          .send("PUT", "/job/", {{"name", "j"}, {"exec_file", "a.R"}, {"code", "1"}}, bad.token)
          .json()["id"];
  // Requests that are held for an event of it end.
  auto held = std::async(std::launch::async, [&] {
    const auto version = stack.job(queued)["version"].get<std::int64_t>();
    return Http{stack.market().url()}.get("/job/" + queued + "/events?after=" + std::to_string(version),
                                          bad.token);
  });

  CHECK(admin.disable(bad) == 204);
  CHECK(agent.hear<protocol::Stop>().reason == "cancelled");
  agent.say(
      protocol::Outcome{.attempt = assignment.attempt, .kind = AttemptOutcome::cancelled, .cpu_ms = 100});
  agent.await_acknowledged();
  REQUIRE(agent.beats_until({}, [&] { return live_jobs_of(stack, bad) == 0; }));
  for (const auto& job : {running, queued, uploading}) CHECK(stack.state_of(job) == "cancelled");
  CHECK(held.get().code() == "unauthenticated");
  CHECK(stack.balance_of(lent.owner) == DispatchStack::kGrant + 100);
  CHECK(stack.balance_of(bad) == DispatchStack::kGrant - 100);
  // Its machine is free for others.
  const auto next = stack.submit({});
  REQUIRE(agent.beats_until({}, [&] { return stack.state_of(next) == "assigned"; }));
  stack.check();
}

TEST_CASE("jobs that are submitted while their account is disabled end too, however many there are") {
  const DispatchStack stack;
  const Admin admin{stack};
  const auto bad = stack.newcomer();
  stack.execute(
      "INSERT INTO job (id, account_id, name, exec_file, state, cpu_cores, ram_mb, disc_mb, price_micro, "
      "submitted_at, rank) SELECT gen_random_uuid(), '" +
      bad.id + "', 'j', 'a.R', 'queued', 1, 64, 1, 0, now(), now() FROM generate_series(1, 1200)");
  std::atomic<int> accepted = 0;
  std::vector<std::jthread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      Http http{stack.market().url()};
      const json job{{"name", "j"}, {"exec_file", "a.R"}, {"code", "1"}, {"price", 0}, {"submit", true}};
      while (http.send("PUT", "/job/", job, bad.token).status == 201) ++accepted;
    });
  }
  REQUIRE(eventually([&] { return accepted >= 20; }));
  CHECK(admin.disable(bad) == 204);
  clients.clear();
  CHECK(eventually([&] { return live_jobs_of(stack, bad) == 0; }));
  CHECK(stack.number("SELECT count(*) FROM job WHERE state = 'cancelled'") == 1200 + accepted);
  stack.check();
}

TEST_CASE("what a disabled account had ends although market and worker were killed right after") {
  DispatchStack stack;
  const Admin admin{stack};
  const auto bad = stack.lend({});
  Agent evicted{stack.socket_url(), bad.token};
  evicted.send_hello();
  const auto strangers = stack.submit({});
  evicted.take_job();
  const auto own = stack.submit({.cpu_cores = 8}, bad.owner);
  stack.worker().process().kill();
  CHECK(admin.disable(bad.owner) == 204);
  stack.market().kill();
  CHECK(stack.state_of(strangers) == "running");
  CHECK(stack.state_of(own) == "queued");
  stack.market().start();
  stack.worker().start();
  CHECK(eventually(
      [&] { return stack.state_of(strangers) == "queued" && stack.state_of(own) == "cancelled"; }));
  CHECK(stack.number("SELECT count(*) FROM machine_session WHERE ended_at IS NULL") == 0);
  CHECK(stack.number("SELECT count(*) FROM attempt WHERE outcome = 'lost'") == 0);
  stack.check();
}

TEST_CASE(
    "a machine of a disabled account gets no job and is closed with its beat, also if no message came") {
  const DispatchStack stack;
  const auto bad = stack.lend({});
  const auto good = stack.lend({.price_micro_per_cpu_second = 1});
  Agent evicted{stack.socket_url(), bad.token};
  evicted.send_hello();
  Agent other{stack.socket_url(), good.token};
  other.send_hello();
  // Only the mark, without what else goes with it.
  stack.execute("UPDATE account SET disabled_at = now() WHERE id = '" + bad.owner.id + "'");
  stack.submit({});
  // The cheaper machine would have been the first.
  CHECK(other.take_job().attempt.name.number == 1);
  // It is not silence that closes the socket.
  int looks = 0;
  CHECK_FALSE(evicted.beats_until({}, [&] { return ++looks > 400; }));
  CHECK(evicted.close_code() == 4002);
}

TEST_CASE("a machine that is reserved for a job of a disabled account is free for others") {
  const DispatchStack stack{{}, {{"RESERVE_AFTER_SECONDS", "1"}}};
  const auto machine = stack.lend({});
  const auto bad = stack.newcomer();
  Agent agent{stack.socket_url(), machine.token};
  agent.send_hello();
  stack.submit({});
  const auto first = agent.take_job();
  const auto evicted = stack.submit({}, bad);
  REQUIRE(agent.beats_until({first.attempt}, [&] {
    return stack.number("SELECT count(*) FROM machine_session WHERE reserved_for = '" + evicted + "'") == 1;
  }));
  const auto next = stack.submit({});
  // Only the mark: nothing has ended the job yet.
  stack.execute("UPDATE account SET disabled_at = now() WHERE id = '" + bad.id + "'");
  agent.complete(first.attempt);
  CHECK(agent.take_job().attempt.name.job.text() == next);
  CHECK(stack.number("SELECT count(*) FROM attempt WHERE job_id = '" + evicted + "'") == 0);
  CHECK(stack.number("SELECT count(*) FROM machine_session WHERE reserved_for IS NOT NULL") == 0);
}

TEST_CASE("a banned machine is closed and gets no token; its owner sees why, and unbanned it returns") {
  const DispatchStack stack;
  const Admin admin{stack};
  const auto bad = stack.lend({});
  const auto good = stack.lend({.price_micro_per_cpu_second = 1});
  Agent evicted{stack.socket_url(), bad.token};
  evicted.send_hello();
  stack.submit({});
  const auto first = evicted.take_job();
  Agent other{stack.socket_url(), good.token};
  other.send_hello();

  CHECK(admin.ban(bad.id, "returns wrong results") == 204);
  CHECK(is_turned_away(evicted));
  CHECK(test::socket_status(stack.socket_url(), bad.token) == 401);
  std::optional<protocol::Assign> given;
  REQUIRE(other.beats_until({}, [&] { return (given = other.hear_if<protocol::Assign>(10ms)).has_value(); }));
  CHECK(given->jobs.front().attempt.name == protocol::AttemptName{first.attempt.name.job, 2});
  CHECK(stack.number("SELECT losses FROM job") == 0);

  Http http{stack.market().url()};
  const auto shown = http.get("/machine/" + bad.id, bad.owner.token).json();
  CHECK(shown["state"] == "banned");
  CHECK(shown["ban_reason"] == "returns wrong results");
  CHECK(http.get("/volunteer/healthz", bad.owner.token).json()["banned"] == 1);
  CHECK(http.get("/machine/" + good.id, good.owner.token).json()["ban_reason"].is_null());
  const auto refused = start_volunteer(stack, bad.id, bad.owner.token);
  CHECK(refused.code() == "forbidden");
  CHECK(refused.json()["detail"].get<std::string>().contains("returns wrong results"));

  CHECK(admin.post("/admin/machines/" + bad.id + "/unban").status == 204);
  CHECK(http.get("/machine/" + bad.id, bad.owner.token).json()["state"] == "offline");
  const auto started = start_volunteer(stack, bad.id, bad.owner.token);
  REQUIRE(started.status == 200);
  Agent{stack.socket_url(), started.json()["token"]}.send_hello();
  stack.check();
}

TEST_CASE("a ban needs a machine and a reason within its limit") {
  const DispatchStack stack;
  const Admin admin{stack};
  const auto machine = stack.lend({});
  const std::string path = "/admin/machines/" + machine.id + "/ban";
  CHECK(admin.post(path, {{"reason", std::string(limits::kBanReasonBytesMax, 'x')}}).status == 204);
  for (const json& wrong :
       {json(std::string(limits::kBanReasonBytesMax + 1, 'x')), json(""), json(1), json("a\nb")}) {
    const auto answer = admin.post(path, {{"reason", wrong}});
    CHECK(answer.code() == "invalid_field");
    CHECK(answer.json()["field"] == "reason");
  }
  CHECK(admin.post("/admin/machines/" + JobId::make().text() + "/ban", {{"reason", "x"}}).code() ==
        "not_found");
  CHECK(admin.post("/admin/machines/" + JobId::make().text() + "/unban").code() == "not_found");
}

TEST_CASE("an admin removes a machine that has a job, and the job goes to another") {
  const DispatchStack stack;
  const Admin admin{stack};
  const auto bad = stack.lend({});
  Agent evicted{stack.socket_url(), bad.token};
  evicted.send_hello();
  const auto job = stack.submit({});
  evicted.take_job();
  Http http{stack.market().url()};
  const auto remove = [&](const std::string& token) {
    return http.call("DELETE", "/machine/" + bad.id, {}, {"Authorization: Bearer " + token});
  };
  CHECK(remove(bad.owner.token).code() == "wrong_state");
  CHECK(remove(stack.client().token).code() == "not_found");
  CHECK(remove(admin.account.token).status == 204);
  CHECK(is_turned_away(evicted));
  CHECK(http.get("/machine/" + bad.id, bad.owner.token).code() == "not_found");
  CHECK(eventually([&] { return stack.state_of(job) == "queued"; }));
  CHECK(stack.number("SELECT losses FROM job") == 0);
  CHECK(remove(admin.account.token).code() == "not_found");
  stack.check();
}
