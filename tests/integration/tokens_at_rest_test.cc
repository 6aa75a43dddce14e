// Tokens are secrets of those who hold them: the database has their hashes only.
#include <algorithm>
#include <doctest/doctest.h>
#include <pqxx/pqxx>

#include "core/chunk.h"
#include "core/digest.h"
#include "tests/support/agent.h"
#include "tests/support/checkpoints.h"
#include "tests/support/dispatch.h"
#include "tests/support/http.h"

using namespace remotist;
using test::Agent;
using test::DispatchStack;

namespace {

// A schema of the test's own with every row that was ever written into a table, also if it was deleted or
// changed soon after.
const std::string kRememberRows = R"(
  CREATE SCHEMA remembered;
  CREATE TABLE remembered.row (table_name text, row_text text);
  CREATE FUNCTION remembered.remember() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO remembered.row VALUES (TG_TABLE_NAME, NEW::text);
    RETURN NULL;
  END $$;
  DO $$
  DECLARE
    t record;
  BEGIN
    FOR t IN SELECT table_schema, table_name FROM information_schema.tables
             WHERE table_schema = 'public' AND table_type = 'BASE TABLE' LOOP
      EXECUTE format('CREATE TRIGGER remember AFTER INSERT OR UPDATE ON %I.%I FOR EACH ROW EXECUTE FUNCTION remembered.remember()',
                     t.table_schema, t.table_name);
    END LOOP;
  END $$)";

// Adds the texts by which a column shows these bytes when it has them in hexadecimal (as a bytea is shown) or
// in base64, at each of the three offsets in a group of that.
void add_encodings(std::vector<std::string>& forms, const std::string& bytes) {
  forms.push_back(hex_of(bytes));
  for (std::size_t before = 0; before < 3; ++before) {
    const std::string padded = std::string(before, 'x') + bytes;
    // Only the digits that depend on nothing but the bytes.
    const std::size_t skipped = (before * 8 + 5) / 6;
    const std::size_t digits = padded.size() * 8 / 6 - skipped;
    forms.push_back(base64_of(padded).substr(skipped, digits));
    forms.push_back(base64url_of(padded).substr(skipped, digits));
  }
}

// Every form of the token's secret: the digits that follow its kind, and the random bytes that these stand
// for.
std::vector<std::string> forms_of(const std::string& token) {
  constexpr std::size_t kDigits = 43;
  const auto secret = token.substr(token.size() - kDigits);
  std::vector<std::string> forms{secret};
  add_encodings(forms, secret);
  add_encodings(forms, bytes_of_base64url(secret, 32).value());
  return forms;
}

// "table.column" of every column with one of these texts.
std::vector<std::string> columns_with(pqxx::connection& connection, const std::vector<std::string>& forms) {
  std::vector<std::string> found;
  pqxx::nontransaction tx{connection};
  const auto columns = tx.exec(
      "SELECT c.table_schema, c.table_name, c.column_name FROM information_schema.columns c "
      "JOIN information_schema.tables t USING (table_schema, table_name) "
      "WHERE t.table_type = 'BASE TABLE' AND t.table_schema NOT IN ('pg_catalog', 'information_schema')");
  for (const auto& row : columns) {
    const auto table =
        tx.quote_name(row[0].as<std::string>()) + "." + tx.quote_name(row[1].as<std::string>());
    const auto column = row[2].as<std::string>();
    const bool has = tx.query_value<bool>("SELECT EXISTS (SELECT FROM " + table +
                                              " t JOIN unnest($1::text[]) f (form) ON position(f.form IN t." +
                                              tx.quote_name(column) + "::text) > 0)",
                                          pqxx::params{forms});
    if (has) found.push_back(row[1].as<std::string>() + "." + column);
  }
  std::ranges::sort(found);
  return found;
}

}  // namespace

TEST_CASE("tokens at rest: no table has a token, or has ever had one, while a job is assigned and running") {
  // Nobody is in a hurry: a search takes its time.
  const DispatchStack stack{{{"BEAT_MS", "20000"}}, {{"ACCEPT_MS", "60000"}}};
  pqxx::connection connection{stack.market().database_url()};
  pqxx::nontransaction{connection}.exec(kRememberRows);
  const auto machine = stack.lend({});
  const auto check_absent = [&](const std::string& token) {
    const auto columns = columns_with(connection, forms_of(token));
    CHECK_MESSAGE(columns.empty(), "a token is in " << pqxx::separated_list(", ", columns));
  };
  std::optional<Agent> agent;
  agent.emplace(stack.socket_url(), machine.token);
  agent->send_hello();
  const auto job = stack.submit({});
  const auto assigned = agent->hear_assignment();
  CHECK(stack.state_of(job) == "assigned");
  check_absent(assigned.attempt.token);

  // The same attempt gets another token from a hello that does not know it.
  agent.emplace(stack.socket_url(), machine.token);
  agent->send_hello();
  const auto again = agent->take_job();
  CHECK(again.attempt.token != assigned.attempt.token);
  CHECK(stack.state_of(job) == "running");
  check_absent(again.attempt.token);
  // What the machine says over REST, and what is asked of it, has none either.
  test::Http http{stack.market().url()};
  const std::vector<std::string> headers{"Authorization: Bearer " + machine.token,
                                         "Remotist-Attempt: " + job + " " +
                                             std::to_string(again.attempt.name.number) + " " +
                                             again.attempt.token};
  const auto chunk = ChunkName::of("state").hex();
  REQUIRE(http.call("PUT", "/blob/" + chunk + "?for=checkpoint", "state", headers).status == 204);
  REQUIRE(
      http.call("POST", "/job/" + job + "/checkpoint", test::manifest(1, {chunk}).dump(), headers).status ==
      201);
  REQUIRE(http.call("POST", "/job/" + job + "/resume", R"({"sequence": 0})", headers).status == 204);
  REQUIRE(
      http.send("POST", "/job/" + job + "/migrate", nlohmann::json::object(), stack.client().token).status ==
      202);
  check_absent(again.attempt.token);
  agent->complete(again.attempt, 1, "result");
  agent->await_acknowledged();
  for (const auto& token : {assigned.attempt.token, again.attempt.token, machine.token, stack.client().token})
    check_absent(token);
  stack.check();

  // The search finds what is there.
  for (const auto& form : forms_of(again.attempt.token)) {
    stack.execute("UPDATE job SET name = 'before " + form + " after'");
    CHECK(columns_with(connection, forms_of(again.attempt.token)) ==
          std::vector<std::string>{"job.name", "row.row_text"});
    stack.execute("UPDATE job SET name = 'j'; DELETE FROM remembered.row");
  }
}
