#include "tests/support/volunteers.h"

#include <doctest/doctest.h>
#include <pqxx/pqxx>

#include "core/digest.h"
#include "core/pg/connection.h"
#include "market/service/accounts.h"
#include "market/service/machines.h"

namespace remotist::test {

TestMachine make_machine(const std::string& url, const TestAccount& account) {
  pg::Connection db{url};
  const market::NewMachine wanted{.name = hex_of(random_bytes(8)), .price_per_cpu_second = Credits::micro(1)};
  const auto machine = market::add_machine(db, account.token_hash, wanted);
  REQUIRE(machine.ok());
  const SigningKey key{std::string(SigningKey::kSeedBytes, 'k')};
  const auto started =
      market::start_volunteer(db, key, account.token_hash, machine->id, std::chrono::hours{1}, std::nullopt);
  REQUIRE(started.ok());
  return {machine->id.text(), started->token};
}

TestAttempt run_on(const std::string& url, const std::string& job, const TestMachine& machine) {
  pqxx::connection connection{url};
  pqxx::work tx{connection};
  const std::string session = uuid_text(uuid_v7());
  tx.exec("UPDATE machine_session SET ended_at = now() WHERE machine_id = $1 AND ended_at IS NULL",
          pqxx::params{machine.id});
  tx.exec(
      "INSERT INTO machine_session (id, machine_id, market_id, cpu_cores_free, ram_mb_free, disc_mb_free) "
      "VALUES ($1, $2, gen_random_uuid(), 0, 0, 0)",
      pqxx::params{session, machine.id});
  TestAttempt attempt{.number = 0, .token = fresh_token("attempt"), .header = {}};
  attempt.number = tx.query_value<int>(
      "UPDATE job SET state = 'assigned', attempt_number = attempt_number + 1 WHERE id = $1 RETURNING "
      "attempt_number",
      pqxx::params{job});
  const std::string hash = token_hash(attempt.token);
  tx.exec(
      "INSERT INTO attempt (job_id, number, machine_id, machine_session_id, token_hash, accepted_at) "
      "VALUES ($1, $2, $3, $4, $5, now())",
      pqxx::params{job, attempt.number, machine.id, session, pqxx::binary_cast(hash)});
  tx.exec("UPDATE job SET state = 'running' WHERE id = $1", pqxx::params{job});
  tx.commit();
  attempt.header = "Remotist-Attempt: " + job + " " + std::to_string(attempt.number) + " " + attempt.token;
  return attempt;
}

void lose(const std::string& url, const std::string& job) {
  pqxx::connection connection{url};
  pqxx::work tx{connection};
  tx.exec("UPDATE attempt SET ended_at = now(), outcome = 'lost' WHERE job_id = $1 AND ended_at IS NULL",
          pqxx::params{job});
  tx.exec("UPDATE job SET state = 'queued' WHERE id = $1", pqxx::params{job});
  tx.commit();
}

}  // namespace remotist::test
