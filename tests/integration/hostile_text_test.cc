// Text that would be a command if anybody took it for one: stored and given back as it was, or refused.
#include <doctest/doctest.h>
#include <pqxx/pqxx>

#include "core/digest.h"
#include "tests/support/environment.h"
#include "tests/support/http.h"
#include "tests/support/registered.h"
#include "tests/support/untouched.h"

using namespace remotist;
using nlohmann::json;
using test::Http;
using test::registered_token;

namespace {

const std::vector<std::string> kCommands{
    "'; DROP TABLE job; --",
    "' OR '1'='1",
    "x'); DELETE FROM account; --",
    "\"; DELETE FROM account; --",
    "\\'; UPDATE account SET role = 'admin'; --",
    "' UNION SELECT email, password_hash FROM account --",
    "'||(SELECT password_hash FROM account LIMIT 1)||'",
    "1; SELECT pg_sleep(30); --",
    "$1",
    "$$; DROP TABLE job; $$",
    "E'\\x27; --",
    "%27%20OR%201=1",
    "{\"a\"}",
    "{NULL,\"}",
    "NULL",
    "--",
    "/*",
    "%s%n%d",
    "\xca\xbc; DROP TABLE job",
    "\xef\xbc\x87; DROP TABLE job",
    "<script>alert(1)</script>",
    "`rm -rf ~`",
    "$(rm -rf ~)",
};

json registration(const std::string& email, const std::string& password = "long enough") {
  return {{"email", email}, {"password", password}};
}

// An e-mail address has no blanks.
std::string without_blanks(std::string text) {
  std::erase(text, ' ');
  return text;
}

std::string percent_escaped(const std::string& text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    escaped += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return escaped;
}

// As the market sees it: relative, and of parts that are neither empty nor backslashed.
bool is_path(const std::string& text) {
  return !text.contains('\\') && !text.contains("//") && !text.starts_with('/') && !text.ends_with('/');
}

// What the job's file holds, from the database itself.
std::string stored_code(const std::string& job, const std::string& path) {
  pqxx::connection connection{test::env("REMOTIST_DATABASE_URL")};
  pqxx::read_transaction tx{connection};
  return tx.query_value<std::string>(
      "SELECT convert_from(inline_bytes, 'UTF8') FROM job_file WHERE job_id = $1 AND path = $2",
      pqxx::params{job, path});
}

long long count(const std::string& table) {
  pqxx::connection connection{test::env("REMOTIST_DATABASE_URL")};
  pqxx::read_transaction tx{connection};
  return tx.query_value<long long>("SELECT count(*) FROM " + table);
}

}  // namespace

TEST_CASE("commands in a job's texts come back as they were sent, and do nothing") {
  Http http{test::env("REMOTIST_URL")};
  const std::string token = registered_token(http);
  const auto jobs = count("job");
  const auto accounts = count("account");
  for (const auto& command : kCommands) {
    CAPTURE(command);
    const std::string path = is_path(command) ? command : "main.R";
    const json watched{command.contains('`') ? command : "`" + command + "`", "x"};
    const json job{
        {"name", command}, {"exec_file", path}, {"code", command}, {"partial_results_vars", watched}};
    const auto created = http.send("PUT", "/job/", job, token);
    REQUIRE_MESSAGE(created.status == 201, created.body);
    const std::string id = created.json()["id"];
    const auto viewed = http.get("/job/" + id, token).json();
    CHECK(viewed["name"] == command);
    CHECK(viewed["exec_file"] == path);
    CHECK(viewed["partial_results_vars"] == watched);
    CHECK(stored_code(id, path) == command);
    const json changed{{"path", path}, {"text", command + command}};
    CHECK(http.send("POST", "/job/" + id + "/code", changed, token).status == 204);
    CHECK(stored_code(id, path) == command + command);
  }
  CHECK(count("job") == jobs + static_cast<long long>(kCommands.size()));
  CHECK(count("account") == accounts);
}

TEST_CASE("a key that is a command is a key like any other, or refused") {
  Http http{test::env("REMOTIST_URL")};
  const std::string token = registered_token(http);
  const json job{{"name", "j"}, {"exec_file", "main.R"}};
  const auto jobs = count("job");
  long long made = 0;
  for (const auto& command : kCommands) {
    CAPTURE(command);
    const std::vector<std::string> key{"Idempotency-Key: " + without_blanks(command)};
    const auto first = http.send("PUT", "/job/", job, token, key);
    const auto again = http.send("PUT", "/job/", job, token, key);
    CHECK(first.status == again.status);
    if (first.status == 201) {
      CHECK(first.json()["id"] == again.json()["id"]);
      ++made;
    } else {
      CHECK(first.json()["field"] == "Idempotency-Key");
    }
  }
  CHECK(made >= static_cast<long long>(kCommands.size()) - 2);
  CHECK(count("job") == jobs + made);
}

TEST_CASE("an e-mail or a password that is a command belongs to one account and opens no other") {
  Http http{test::env("REMOTIST_URL")};
  const auto accounts = count("account");
  long long made = 0;
  for (const auto& command :
       {kCommands[0], kCommands[1], kCommands[4], kCommands[6], kCommands[8], kCommands[18]}) {
    CAPTURE(command);
    const std::string email = hex_of(random_bytes(4)) + without_blanks(command) + "@example.org";
    const std::string password = command + " long enough";
    REQUIRE(http.send("POST", "/user/register", registration(email, password)).status == 201);
    ++made;
    const auto login = http.send("POST", "/user/login", registration(email, password));
    REQUIRE(login.status == 200);
    CHECK(http.get("/user/", login.json()["token"]).json()["email"] == email);
    CHECK(http.get("/user/", login.json()["token"]).json()["role"] == "user");
    CHECK(http.send("POST", "/user/login", registration(email, "long enough")).code() == "wrong_credentials");
    CHECK(http.send("POST", "/user/register", registration(email, password)).code() == "email_taken");
  }
  CHECK(count("account") == accounts + made);
}

TEST_CASE("commands in tokens, ids and questions find nothing and change nothing") {
  Http http{test::env("REMOTIST_URL")};
  const std::string token = registered_token(http);
  const test::Untouched untouched;
  for (const auto& command : kCommands) {
    CAPTURE(command);
    const std::string word = percent_escaped(command);
    CHECK(http.get("/user/", command).code() == "unauthenticated");
    CHECK(http.get("/user/", token + command).code() == "unauthenticated");
    CHECK(http.get("/job/" + word, token).code() == "not_found");
    CHECK(http.send("POST", "/job/" + word + "/cancel", json::object(), token).code() == "not_found");
    CHECK(http.send("POST", "/admin/users/" + word + "/disable", json::object(), token).code() ==
          "not_found");
    for (const char* name : {"state", "page", "per_page"}) {
      const auto answer = http.get("/job/?" + std::string{name} + "=" + word, token);
      CHECK(answer.code() == "invalid_field");
      CHECK(answer.json()["field"] == name);
    }
  }
}
