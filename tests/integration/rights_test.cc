// Who may call what: every route that the market has, as every kind of caller.
#include <doctest/doctest.h>
#include <map>
#include <optional>
#include <pqxx/pqxx>
#include <regex>
#include <set>

#include "core/chunk.h"
#include "core/digest.h"
#include "market/store/admin.h"
#include "tests/support/api_schema.h"
#include "tests/support/checkpoints.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "tests/support/http.h"
#include "tests/support/volunteers.h"

using namespace remotist;
using nlohmann::json;
using test::Http;

namespace {

enum Caller { nobody, owner, other_user, machine, other_machine, admin };
constexpr const char* kCallers[] = {"nobody", "owner", "other user", "machine", "other machine", "admin"};

constexpr const char* kOk = "";  // done, or shown the way
constexpr const char* kNone = "unauthenticated";
constexpr const char* kGone = "not_found";
constexpr const char* kNo = "forbidden";
constexpr const char* kStale = "stale_attempt";

struct Row {
  const char* body;
  // What nobody, the owner of the thing, another user, the machine that has the job, another machine that
  // claims to have it, and an admin are told.
  std::array<const char*, 6> told;
  const char* state = "uploading";  // of the job in question
};

// A job that is a caller's own, or a list of the caller's own things: machines speak for no account.
constexpr std::array kUsers{kNone, kOk, kOk, kNone, kNone, kOk};
constexpr std::array kAnybody{kOk, kOk, kOk, kOk, kOk, kOk};
constexpr std::array kAdmins{kNone, kNo, kNo, kNone, kNone, kOk};
constexpr std::array kOwner{kNone, kOk, kGone, kNone, kNone, kGone};
constexpr std::array kOwnerOrAdmin{kNone, kOk, kGone, kNone, kNone, kOk};
constexpr std::array kReadByOwnerAndMachine{kNone, kOk, kGone, kOk, kStale, kGone};
constexpr std::array kReadByOwner{kNone, kOk, kGone, kGone, kStale, kGone};
constexpr std::array kBroughtByOwner{kNone, kOk, kGone, kStale, kStale, kGone};
constexpr std::array kBroughtByMachine{kNone, kNo, kGone, kOk, kStale, kGone};
constexpr std::array kReadByOwnerAdminAndMachine{kNone, kOk, kGone, kOk, kStale, kOk};

const char* const kFile = R"({"path": "x", "text": "1"})";
const char* const kRecord = R"({"number": 2, "changes": 1, "age_ms": 0, "kind": "value", "base64": "eA=="})";

bool is_behind_proxy() {
  return test::market_urls().front() != test::env("REMOTIST_URL");
}

const std::map<std::string, Row>& table() {
  static const std::map<std::string, Row> rows{
      {"GET /healthz", {"", kAnybody}},
      {"GET /metrics", {"", is_behind_proxy() ? std::array{kNo, kNo, kNo, kNone, kNone, kOk} : kAnybody}},
      {"GET /openapi.json", {"", kAnybody}},
      {"GET /docs/", {"", kAnybody}},
      {"GET /", {"", kAnybody}},
      {"GET /volunteer/key", {"", kAnybody}},
      {"GET /volunteer/healthz", {"", {kNone, kOk, kOk, kOk, kOk, kOk}}},
      {"POST /volunteer/setState", {"STATE", {kNone, kOk, kGone, kOk, kGone, kGone}}},
      {"POST /user/register", {"EMAIL", kAnybody}},
      {"POST /user/login", {"OWN EMAIL", kAnybody}},
      {"POST /user/logout", {"", kUsers}},
      {"POST /user/password",
       {R"({"old": "wrong but long", "new": "long enough"})",
        {kNone, "wrong_credentials", "wrong_credentials", kNone, kNone, "wrong_credentials"}}},
      {"GET /user/", {"", kUsers}},
      {"GET /user/statement", {"", kUsers}},
      {"GET /job/", {"", kUsers}},
      {"PUT /job/", {R"({"name": "j", "exec_file": "m.R"})", kUsers}},
      {"GET /job/{id}", {"", kOwnerOrAdmin}},
      {"DELETE /job/{id}", {"", kOwner}},
      {"POST /job/{id}/submit", {"", kOwner}},
      {"POST /job/{id}/cancel", {"", kOwnerOrAdmin}},
      {"GET /job/{id}/events", {"", kOwnerOrAdmin}},
      {"POST /job/{id}/migrate", {"", kOwnerOrAdmin, "running"}},
      {"GET /job/{id}/attempts", {"", kOwnerOrAdmin, "running"}},
      {"GET /job/{id}/checkpoint", {"", kReadByOwnerAdminAndMachine, "running"}},
      {"POST /job/{id}/checkpoint", {"CHECKPOINT 2", kBroughtByMachine, "running"}},
      {"GET /job/{id}/checkpoint/{sequence}", {"", kBroughtByMachine, "running"}},
      {"POST /job/{id}/checkpoint/note", {R"({"interval_ms": 1})", kBroughtByMachine, "running"}},
      {"POST /job/{id}/resume",
       {R"({"sequence": 0, "skipped": [{"sequence": 1, "reason": "r"}]})", kBroughtByMachine, "running"}},
      {"GET /job/{id}/code", {"", kReadByOwnerAndMachine, "running"}},
      {"GET /job/{id}/data", {"", kReadByOwnerAndMachine, "running"}},
      {"GET /job/{id}/output", {"", kReadByOwner, "running"}},
      {"GET /job/{id}/files", {"", kReadByOwner, "running"}},
      {"GET /job/{id}/log", {"", kReadByOwner, "running"}},
      {"GET /job/{id}/error", {"", kReadByOwner, "running"}},
      {"POST /job/{id}/code", {kFile, kBroughtByOwner}},
      {"POST /job/{id}/data", {kFile, kBroughtByOwner}},
      {"POST /job/{id}/output", {kFile, kBroughtByMachine, "running"}},
      {"POST /job/{id}/files", {kFile, kBroughtByMachine, "running"}},
      {"POST /job/{id}/log", {kFile, kBroughtByMachine, "running"}},
      {"POST /job/{id}/error", {kFile, kBroughtByMachine, "running"}},
      {"GET /job/{id}/partialResults/", {"", kOwner}},
      {"GET /job/{id}/partialResults/{variable}", {"", kOwner, "running"}},
      {"GET /job/{id}/partialResults/{variable}/history", {"", kOwner}},
      {"POST /job/{id}/partialResults/{variable}", {kRecord, kBroughtByMachine, "running"}},
      {"POST /blob/missing", {R"({"chunks": []})", {kNone, kOk, kOk, kOk, kStale, kOk}, "running"}},
      {"PUT /blob/{sha256}", {"x", {kNone, kOk, kOk, kOk, kStale, kOk}, "running"}},
      {"GET /blob/{sha256}", {"", kReadByOwnerAndMachine, "running"}},
      {"GET /machine/", {"", kUsers}},
      {"PUT /machine/", {"NAME", kUsers}},
      {"GET /machine/{id}", {"", {kNone, kOk, kGone, kOk, kGone, kOk}}},
      {"DELETE /machine/{id}", {"", kOwnerOrAdmin}},
      {"POST /machine/{id}/startVolunteer", {"", kOwner}},
      {"GET /admin/users", {"", kAdmins}},
      {"POST /admin/users/{id}/disable", {"", kAdmins}},
      {"POST /admin/users/{id}/enable", {"", kAdmins}},
      {"POST /admin/users/{id}/grant", {R"({"credits": 1})", kAdmins}},
      {"POST /admin/users/{id}/quota", {R"({"megabytes": 1})", kAdmins}},
      {"GET /admin/jobs", {"", kAdmins}},
      {"GET /admin/machines", {"", kAdmins}},
      {"POST /admin/machines/{id}/ban", {R"({"reason": "no"})", kAdmins}},
      {"POST /admin/machines/{id}/unban", {"", kAdmins}},
      {"GET /admin/audit", {"", kAdmins}},
      {"GET /admin/events", {"", kAdmins}},
      {"POST /admin/invitations", {"{}", kAdmins}},
  };
  return rows;
}

std::string database() {
  return test::env("REMOTIST_DATABASE_URL");
}

// One of everything, made anew for each call that changes something, so that none sees what another has done.
struct World {
  Http& http;
  std::string chunk = ChunkName::of("x").hex();
  test::TestAccount accounts[6];  // of owner, other_user and admin
  test::TestMachine
      machines[6];  // of machine, which is the owner's, and other_machine, which is other_user's
  std::string victim = test::make_account(database(), 0).id;
  std::string job;
  std::string attempt_header = "Remotist-Attempt: " + uuid_text(uuid_v7()) + " 1 x";

  World(Http& given, const std::string& state) : http(given) {
    for (const Caller caller : {owner, other_user, admin})
      accounts[caller] = test::make_account(database(), 10'000'000);
    pg::Connection db{database()};
    market::make_admin(db, AccountId::parse(accounts[admin].id).value());
    machines[machine] = test::make_machine(database(), accounts[owner]);
    machines[other_machine] = test::make_machine(database(), accounts[other_user]);
    const auto call = [&](const char* method, const std::string& path, const std::string& body) {
      const auto answer = http.call(method, path, body, {"Authorization: Bearer " + accounts[owner].token});
      REQUIRE(answer.status < 300);
      return answer;
    };
    job = call("PUT", "/job/",
               R"({"name": "j", "exec_file": "m.R", "code": "1", "partial_results_vars": ["x$y"]})")
              .json()["id"];
    call("PUT", "/blob/" + chunk, "x");
    call("POST", "/job/" + job + "/data", json{{"path", "d"}, {"size", 1}, {"chunks", {chunk}}}.dump());
    if (state == "running") {
      call("POST", "/job/" + job + "/submit", "");
      attempt_header = test::run_on(database(), job, machines[machine]).header;
      REQUIRE(http.call("POST", "/job/" + job + "/partialResults/x%24y",
                        R"({"number": 1, "changes": 1, "age_ms": 0, "kind": "removed"})", headers(machine))
                  .status == 204);
      REQUIRE(http.call("PUT", "/blob/" + chunk + "?for=checkpoint", "x", headers(machine)).status == 204);
      REQUIRE(http.call("POST", "/job/" + job + "/checkpoint", body_of("CHECKPOINT 1"), headers(machine))
                  .status == 201);
    }
  }

  std::vector<std::string> headers(Caller caller) const {
    if (caller == nobody) return {};
    const bool is_machine = caller == machine || caller == other_machine;
    std::vector<std::string> all{"Authorization: Bearer " +
                                 (is_machine ? machines[caller].token : accounts[caller].token)};
    // The other machine has even got hold of the attempt's token.
    if (is_machine) all.push_back(attempt_header);
    all.push_back("Idempotency-Key: " + hex_of(random_bytes(8)));
    return all;
  }

  std::string path_of(const std::string& pattern) const {
    const auto with = [&](std::string_view what, const std::string& value) {
      std::string path = pattern;
      return path.replace(path.find(what), what.size(), value);
    };
    if (const auto at = pattern.find("{variable}"); at != std::string::npos)
      return path_of(std::string{pattern}.replace(at, 10, "x%24y"));
    if (const auto at = pattern.find("{sequence}"); at != std::string::npos)
      return path_of(std::string{pattern}.replace(at, 10, "1"));
    if (pattern.starts_with("/job/{id}")) return with("{id}", job);
    if (pattern.starts_with("/machine/{id}")) return with("{id}", machines[machine].id);
    if (pattern.starts_with("/admin/machines/{id}")) return with("{id}", machines[machine].id);
    if (pattern.starts_with("/admin/users/{id}")) return with("{id}", victim);
    if (pattern == "/blob/{sha256}") return with("{sha256}", chunk) + "?job=" + job;
    return pattern;
  }

  std::string body_of(const std::string& body) const {
    const std::string fresh = hex_of(random_bytes(8));
    if (body == "STATE") return json{{"machine", machines[machine].id}, {"state", "busy"}}.dump();
    if (body.starts_with("CHECKPOINT ")) return test::manifest(std::stoi(body.substr(11)), {chunk}).dump();
    if (body == "NAME") return json{{"name", fresh}}.dump();
    if (body == "EMAIL") return json{{"email", fresh + "@example.org"}, {"password", "long enough"}}.dump();
    if (body == "OWN EMAIL") {
      const json credentials{{"email", fresh + "@example.org"}, {"password", "long enough"}};
      REQUIRE(http.send("POST", "/user/register", credentials).status == 201);
      return credentials.dump();
    }
    return body;
  }
};

// The fields of a request with their JSON types, as the refusal of one that it does not have lists them.
std::map<std::string, std::string> fields_listed(const std::string& detail) {
  static const std::map<std::string, std::string> types{
      {"a string", "string"},         {"a whole number", "integer"},  {"a number", "number"},
      {"true or false", "boolean"},   {"a list of strings", "array"}, {"a list of whole numbers", "array"},
      {"a list of objects", "array"}, {"an object", "object"},
  };
  static const std::regex field{R"((\w+) \(([a-z ]+)\))"};
  std::map<std::string, std::string> fields;
  for (std::sregex_iterator each{detail.begin(), detail.end(), field}; each != std::sregex_iterator{}; ++each)
    fields[(*each)[1]] = types.at((*each)[2]);
  return fields;
}

std::map<std::string, std::string> fields_documented(const json& schema) {
  std::map<std::string, std::string> fields;
  for (const auto& [field, given] : schema["properties"].items()) {
    const auto type = test::resolved(given).value("type", json("string"));  // of an enumeration
    fields[field] = type.is_array() ? type.front() : type;
  }
  return fields;
}

// `body` conforms to `schema`. `send` sends it with one object changed: the one at `where`.
template <class Send>
void check_fields(const json& body, const json& schema, const json::json_pointer& where, const Send& send) {
  CAPTURE(where.to_string());
  CHECK(schema.value("additionalProperties", true) == false);
  CHECK(test::mismatch(body.at(where), schema) == "");
  json changed = body;
  changed[where]["undocumented"] = 1;
  const auto told = send(changed);
  CAPTURE(told.body);
  REQUIRE(told.code() == "invalid_field");
  CHECK(told.json()["field"].template get<std::string>().ends_with("undocumented"));
  CHECK(fields_listed(told.json()["detail"]) == fields_documented(schema));
  for (const std::string field : schema.value("required", json::array())) {
    CAPTURE(field);
    changed = body;
    REQUIRE(changed[where].erase(field) == 1);
    CHECK(send(changed).code() == "invalid_field");
  }
}

void change_password(Http& http) {
  const json credentials{{"email", hex_of(random_bytes(8)) + "@example.org"}, {"password", "long enough"}};
  REQUIRE(http.send("POST", "/user/register", credentials).status == 201);
  const std::string token = http.send("POST", "/user/login", credentials).json()["token"];
  const json passwords{{"old", credentials["password"]}, {"new", "another one"}};
  CHECK(http.send("POST", "/user/password", passwords, token).status == 200);
}

}  // namespace

TEST_CASE("every request has the fields that openapi.json documents, and refuses others") {
  Http http{test::env("REMOTIST_URL")};
  std::map<std::string, World> worlds;
  for (const auto& [route, row] : table()) {
    CAPTURE(route);
    const auto space = route.find(' ');
    std::string method = route.substr(0, space);
    std::ranges::transform(method, method.begin(), [](unsigned char c) { return std::tolower(c); });
    const json& operation = test::api_document()["paths"][route.substr(space + 1)][method];
    if (operation.contains("requestBody") &&
        !operation["requestBody"]["content"].contains("application/json"))
      continue;
    const World& world = worlds.try_emplace(row.state, http, row.state).first->second;
    const auto caller = row.told == kAdmins ? admin : row.told == kBroughtByMachine ? machine : owner;
    const auto send = [&](const json& body) {
      return http.call(route.substr(0, space), world.path_of(route.substr(space + 1)), body.dump(),
                       world.headers(caller));
    };
    if (!operation.contains("requestBody")) {
      if (method != "get") CHECK(send(json{{"undocumented", 1}}).code() != "invalid_field");
      worlds.erase(row.state);  // the call may have changed it
      continue;
    }
    const auto text = world.body_of(row.body);
    const auto body = text.empty() ? json::object() : json::parse(text);
    const json& schema = test::resolved(operation["requestBody"]["content"]["application/json"]["schema"]);
    if (!schema.contains("oneOf")) {
      check_fields(body, schema, json::json_pointer{}, send);
      continue;
    }
    // A list of files, or one file.
    const json& files = test::resolved(schema["oneOf"][0]);
    const json& file = test::resolved(schema["oneOf"][1]);
    CHECK(&test::resolved(files["properties"]["files"]["items"]) == &file);
    check_fields(body, file, json::json_pointer{}, send);
    check_fields(json{{"files", json::array({body})}}, file, json::json_pointer{"/files/0"}, send);
    check_fields(json{{"files", json::array({body})}}, files, json::json_pointer{}, send);
  }
}

TEST_CASE("the table of rights names every route that the market has") {
  Http http{test::env("REMOTIST_URL")};
  const json described = http.get("/openapi.json").json();
  std::set<std::string> existing;
  for (const auto& [path, methods] : described["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      std::string name = method;
      std::ranges::transform(name, name.begin(),
                             [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      existing.insert(name + " " + path);
    }
  }
  std::set<std::string> named;
  for (const auto& [route, row] : table()) named.insert(route);
  CHECK(named == existing);
}

TEST_CASE("every route does for every caller what the table of rights says") {
  Http http{test::env("REMOTIST_URL")};
  for (const auto& [route, row] : table()) {
    CAPTURE(route);
    const auto space = route.find(' ');
    std::optional<World> made;
    for (int i = 0; i < 6; ++i) {
      const auto caller = static_cast<Caller>(i);
      CAPTURE(kCallers[i]);
      // Who only looks leaves the world as it is.
      if (!made || !route.starts_with("GET ")) made.emplace(http, row.state);
      const World& world = *made;
      const auto answer = http.call(route.substr(0, space), world.path_of(route.substr(space + 1)),
                                    world.body_of(row.body), world.headers(caller));
      CAPTURE(answer.body);
      CHECK(answer.code() == row.told[static_cast<std::size_t>(i)]);
      CHECK((answer.status < 400) == (row.told[static_cast<std::size_t>(i)] == std::string{kOk}));
    }
    // Nobody knows the old password.
    if (route == "POST /user/password") change_password(http);
    CHECK(test::routes_checked().contains(route));
  }
}
