#include "tests/support/dispatch.h"

#include <doctest/doctest.h>
#include <pqxx/pqxx>

#include "core/digest.h"
#include "core/pg/connection.h"
#include "market/service/machines.h"
#include "market/store/ledger.h"
#include "tests/support/http.h"

namespace remotist::test {

DispatchStack::DispatchStack(const std::map<std::string, std::string>& market_settings,
                             const std::map<std::string, std::string>& worker_settings) {
  auto settings = market_settings;
  settings.insert({"BEAT_MS", std::to_string(kBeat.count())});
  market_ = std::make_unique<OwnMarket>(settings);
  worker_ = std::make_unique<OwnWorker>(market_->database_url(), worker_settings);
  client_ = newcomer();
}

TestAccount DispatchStack::newcomer() const {
  return make_account(market_->database_url(), kGrant);
}

DispatchStack::Machine DispatchStack::lend(const Lent& lent) const {
  pg::Connection db{market_->database_url()};
  Machine machine{.id = {}, .token = {}, .owner = newcomer()};
  const market::NewMachine wanted{.name = "m",
                                  .cpu_cores = lent.cpu_cores,
                                  .ram_mb = lent.ram_mb,
                                  .disc_mb = lent.disc_mb,
                                  .price_per_cpu_second = Credits::micro(lent.price_micro_per_cpu_second)};
  const auto made = market::add_machine(db, machine.owner.token_hash, wanted);
  REQUIRE(made.ok());
  machine.id = made->id.text();
  const SigningKey key{std::string(SigningKey::kSeedBytes, 'k')};
  const auto started = market::start_volunteer(db, key, machine.owner.token_hash, made->id,
                                               std::chrono::hours{1}, std::nullopt);
  REQUIRE(started.ok());
  machine.token = started->token;
  return machine;
}

std::string DispatchStack::submit(const Wish& wish, const TestAccount& account) const {
  nlohmann::json body{{"name", "j"},           {"exec_file", "main.R"},
                      {"code", wish.code},     {"submit", true},
                      {"cpu", wish.cpu_cores}, {"price", Credits::micro(wish.price).number()}};
  if (!wish.watched.empty()) body["partial_results_vars"] = wish.watched;
  if (wish.deadline_seconds > 0) body["deadline"] = wish.deadline_seconds;
  const auto answer = Http{market_->url()}.send("PUT", "/job/", body, account.token);
  REQUIRE_MESSAGE(answer.status == 201, answer.body);
  return answer.json()["id"];
}

int DispatchStack::cancel(const std::string& job) const {
  return Http{market_->url()}
      .send("POST", "/job/" + job + "/cancel", nlohmann::json::object(), client_.token)
      .status;
}

nlohmann::json DispatchStack::job(const std::string& id) const {
  // Whoever owns it: the database is asked, which a market that is away does not hide.
  pqxx::connection connection{market_->database_url()};
  return nlohmann::json::parse(pqxx::nontransaction{connection}.query_value<std::string>(
      "SELECT to_json(j) FROM job_shown j WHERE id = $1", pqxx::params{id}));
}

std::string DispatchStack::output_of(const std::string& id) const {
  const auto answer = Http{market_->url()}.get("/job/" + id + "/output", client_.token);
  REQUIRE(answer.status == 200);
  const auto file = answer.json()["files"].at(0);
  if (file.contains("text")) return file["text"];
  return bytes_of_base64(file.at("base64").get<std::string>()).value();
}

int DispatchStack::output_status(const std::string& id, const Machine& machine,
                                 const protocol::AttemptKey& attempt) const {
  return Http{market_->url()}
      .send("POST", "/job/" + id + "/output", {{"files", {{{"path", "r.rds"}, {"text", "late"}}}}},
            machine.token,
            {"Remotist-Attempt: " + id + " " + std::to_string(attempt.name.number) + " " + attempt.token})
      .status;
}

std::int64_t DispatchStack::balance_of(const TestAccount& account) const {
  return number("SELECT balance_micro FROM ledger_account WHERE account_id = '" + account.id + "'");
}

std::int64_t DispatchStack::number(const std::string& query) const {
  pqxx::connection connection{market_->database_url()};
  return pqxx::nontransaction{connection}.query_value<std::int64_t>(query);
}

void DispatchStack::execute(const std::string& statement) const {
  pqxx::connection connection{market_->database_url()};
  pqxx::nontransaction{connection}.exec(statement);
}

void DispatchStack::check() const {
  pg::Connection db{market_->database_url()};
  for (const auto& invariant : market::audit_ledger(db)) {
    CHECK_MESSAGE(!invariant.broken_by, invariant.name << ": " << invariant.broken_by.value_or(""));
  }
  CHECK(number("SELECT count(*) FROM (SELECT FROM attempt WHERE ended_at IS NULL GROUP BY job_id HAVING "
               "count(*) > 1) x") == 0);
  // What a session has free is what its machine has, less what its attempts take.
  CHECK(
      number(
          "SELECT count(*) FROM machine_session s JOIN machine m ON m.id = s.machine_id "
          "LEFT JOIN LATERAL (SELECT sum(j.cpu_cores) AS cpu, sum(j.ram_mb) AS ram FROM attempt a "
          "JOIN job j ON j.id = a.job_id WHERE a.machine_session_id = s.id AND a.ended_at IS NULL) t ON true "
          "WHERE s.ended_at IS NULL AND (s.cpu_cores_free <> m.cpu_cores - coalesce(t.cpu, 0) "
          "OR s.ram_mb_free <> m.ram_mb - coalesce(t.ram, 0))") == 0);
  CHECK(number("SELECT count(*) FROM attempt a JOIN job j ON j.id = a.job_id WHERE a.ended_at IS NULL AND "
               "(j.state NOT IN ('assigned', 'running') OR j.attempt_number <> a.number)") == 0);
}

}  // namespace remotist::test
