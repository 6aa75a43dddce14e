// Bodies that no honest client sends, to every route that reads one: a clear refusal, and nothing happens.
#include <doctest/doctest.h>

#include "core/digest.h"
#include "core/limits.h"
#include "market/store/admin.h"
#include "tests/support/environment.h"
#include "tests/support/http.h"
#include "tests/support/raw.h"
#include "tests/support/untouched.h"

using namespace remotist;
using nlohmann::json;
using test::Http;
using test::HttpAnswer;

namespace {

enum class Kind { text, whole, number, flag, texts };

struct Field {
  std::string name;
  Kind kind;
  bool required = false;
};

struct Reader {
  std::string method;
  std::string path;
  json good;
  std::vector<Field> fields;
};

// Somebody who may use every route, and the routes that read a body, as they are for that caller.
struct Everything {
  Http http{test::env("REMOTIST_URL")};
  std::string token;
  std::vector<Reader> readers;

  Everything() {
    const json credentials{{"email", hex_of(random_bytes(8)) + "@example.org"}, {"password", "long enough"}};
    const auto registered = http.send("POST", "/user/register", credentials);
    REQUIRE(registered.status == 201);
    const std::string id = registered.json()["id"];
    pg::Connection db{test::env("REMOTIST_DATABASE_URL")};
    market::make_admin(db, AccountId::parse(id).value());
    token = http.send("POST", "/user/login", credentials).json()["token"];
    const json job{{"name", "j"}, {"exec_file", "main.R"}};
    const std::string job_id = http.send("PUT", "/job/", job, token).json()["id"];
    const json newcomer{{"email", hex_of(random_bytes(8)) + "@example.org"}, {"password", "long enough"}};
    readers = {
        {"POST",
         "/user/register",
         newcomer,
         {{"email", Kind::text, true}, {"password", Kind::text, true}, {"invitation", Kind::text}}},
        {"POST", "/user/login", newcomer, {{"email", Kind::text, true}, {"password", Kind::text, true}}},
        {"POST",
         "/user/password",
         {{"old", "not the one"}, {"new", "long enough"}},
         {{"old", Kind::text, true}, {"new", Kind::text, true}}},
        {"PUT",
         "/job/",
         job,
         {{"name", Kind::text, true},
          {"exec_file", Kind::text, true},
          {"cpu", Kind::whole},
          {"ram", Kind::whole},
          {"disc", Kind::whole},
          {"deadline", Kind::whole},
          {"partial_results_vars", Kind::texts},
          {"code", Kind::text},
          {"submit", Kind::flag},
          {"price", Kind::number}}},
        {"POST",
         "/job/" + job_id + "/code",
         {{"path", "main.R"}, {"text", "1"}},
         {{"path", Kind::text, true}, {"text", Kind::text, true}}},
        {"POST", "/admin/users/" + id + "/grant", {{"credits", 1}}, {{"credits", Kind::number, true}}},
        {"POST", "/admin/invitations", {{"seconds", 60}}, {{"seconds", Kind::whole}}},
        {"POST", "/admin/users/" + id + "/quota", {{"megabytes", 1}}, {{"megabytes", Kind::whole, true}}},
        {"POST", "/blob/missing", {{"chunks", json::array()}}, {{"chunks", Kind::texts, true}}},
        {"PUT",
         "/machine/",
         {{"name", hex_of(random_bytes(8))}},
         {{"name", Kind::text, true},
          {"cpu", Kind::whole},
          {"ram", Kind::whole},
          {"disc", Kind::whole},
          {"price", Kind::number}}},
    };
  }

  HttpAnswer send(const Reader& to, const std::string& body) {
    return http.call(to.method, to.path, body,
                     {"Authorization: Bearer " + token, "Content-Type: application/json",
                      "Idempotency-Key: " + hex_of(random_bytes(8))});
  }
};

void check_problem(const HttpAnswer& answer, int status, const std::string& code) {
  CHECK(answer.status == status);
  CHECK(answer.code() == code);
  REQUIRE(answer.headers.contains("content-type"));
  CHECK(answer.headers.at("content-type") == "application/problem+json");
  CHECK_FALSE(answer.json().value("detail", "").empty());
}

// Values of every other type than the field's own, and some that only look like it.
std::vector<json> wrong_values(const Field& field) {
  std::vector<json> values{json::object(), {{"a", 1}}, json::array({json::array()}), json::array({nullptr})};
  if (field.kind != Kind::texts) values.insert(values.end(), {json::array(), json::array({"x"})});
  if (field.kind != Kind::text) values.insert(values.end(), {"", "1", "true", "NaN"});
  if (field.kind != Kind::flag) values.insert(values.end(), {true, false});
  if (field.kind != Kind::whole && field.kind != Kind::number) values.insert(values.end(), {0, 1, -1, 1.5});
  if (field.kind == Kind::whole) values.insert(values.end(), {1.5, 1e300, -1e300, 18446744073709551615U});
  if (field.kind == Kind::number) values.insert(values.end(), {-1, 1e300, 1e-300});
  if (field.kind == Kind::texts)
    values.insert(values.end(),
                  {json::array({1}), json::array({"x", nullptr}), json::array({"x", {{"y", 1}}})});
  if (field.required) values.emplace_back(nullptr);
  return values;
}

json replaced(json document, const std::string& field, const json& value) {
  document[field] = value;
  return document;
}

}  // namespace

TEST_CASE("what is not JSON is refused as malformed by every route that reads a body, and changes nothing") {
  Everything all;
  const test::Untouched untouched;
  const std::string nul{"{\"a\":\"\0\"}", 9};
  const std::vector<std::string> bodies{"",
                                        " ",
                                        "{",
                                        "}",
                                        "[",
                                        "]",
                                        "nul",
                                        "null",
                                        "true",
                                        "7",
                                        "\"text\"",
                                        "[]",
                                        "[{}]",
                                        "{\"name\"",
                                        "{\"name\":",
                                        "{\"name\":}",
                                        "{\"name\":\"x\"",
                                        "{\"name\":\"x\",}",
                                        "{,}",
                                        "{'name':'x'}",
                                        "{name:\"x\"}",
                                        "{\"name\":\"x\"}{}",
                                        "{} x",
                                        "{}\xff",
                                        "// x\n{}",
                                        "/* */{}",
                                        "{\"name\":\"x",
                                        "{\"name\":\"\\",
                                        "{\"name\":\"\\x41\"}",
                                        "{\"name\":\"\\u12\"}",
                                        "{\"name\":\"\\ud800\"}",
                                        "{\"name\":\"\\udc00\\ud800\"}",
                                        "{\"name\":\"a\nb\"}",
                                        "{\"name\":\"\x01\"}",
                                        "{\"name\":\"\xc0\x80\"}",
                                        "{\"name\":\"\xed\xa0\x80\"}",
                                        "{\"name\":\"\xf5\x80\x80\x80\"}",
                                        "{\"name\":\"\xe6\xbc\"}",
                                        "{\"cpu\":NaN}",
                                        "{\"cpu\":Infinity}",
                                        "{\"cpu\":01}",
                                        "{\"cpu\":+1}",
                                        "{\"cpu\":1.}",
                                        "{\"cpu\":.5}",
                                        "{\"cpu\":0x10}",
                                        "{\"cpu\":1e}",
                                        "{\"cpu\":1e999}",
                                        "{\"cpu\":--1}",
                                        "{\"cpu\":1 2}",
                                        "{\"a\":1 \"b\":2}",
                                        "\xff\xfe{\0}\0",
                                        "<?xml version=\"1.0\"?><a/>",
                                        "name=x&cpu=1",
                                        "--b\r\nContent-Disposition: form-data\r\n\r\nx\r\n--b--",
                                        nul,
                                        std::string(1000, '{'),
                                        std::string(100'000, '['),
                                        "{\"a\":" + std::string(100'000, '['),
                                        std::string(200'000, '\\')};
  for (const auto& reader : all.readers) {
    for (const auto& body : bodies) {
      INFO(reader.method << " " << reader.path << " with " << body.substr(0, 40));
      check_problem(all.send(reader, body), 400, "malformed_request");
    }
  }
}

TEST_CASE("a field of the wrong type is refused by its name, on every route, and nothing changes") {
  Everything all;
  const test::Untouched untouched;
  for (const auto& reader : all.readers) {
    for (const auto& field : reader.fields) {
      for (const auto& value : wrong_values(field)) {
        const auto answer = all.send(reader, replaced(reader.good, field.name, value).dump());
        INFO(reader.method << " " << reader.path << " with " << field.name << " = " << value.dump());
        check_problem(answer, 422, "invalid_field");
        const std::string named = answer.json().value("field", "");
        CHECK(named.substr(0, named.find('[')) == field.name);
      }
      if (!field.required) continue;
      json without = reader.good;
      without.erase(field.name);
      check_problem(all.send(reader, without.dump()), 422, "invalid_field");
    }
    const auto unknown = all.send(reader, replaced(reader.good, "no such field", 1).dump());
    check_problem(unknown, 422, "invalid_field");
    CHECK(unknown.json()["field"] == "no such field");
  }
}

TEST_CASE("JSON is read to the depth of the limit and no deeper") {
  Everything all;
  const test::Untouched untouched;
  const auto nested = [](int depth) {
    // The object itself is the first level.
    return "{\"x\":" + std::string(static_cast<std::size_t>(depth - 1), '[') +
           std::string(static_cast<std::size_t>(depth - 1), ']') + "}";
  };
  for (const auto& reader : all.readers) {
    CAPTURE(reader.path);
    check_problem(all.send(reader, nested(limits::kJsonDepthMax)), 422, "invalid_field");
    check_problem(all.send(reader, nested(limits::kJsonDepthMax + 1)), 400, "malformed_request");
  }
}

TEST_CASE("a JSON body is read up to its limit, and a body up to the limit of bodies") {
  Everything all;
  const test::Untouched untouched;
  const auto padded = [](std::size_t bytes) {
    std::string text(bytes, ' ');
    text.front() = '{';
    text.back() = '}';
    return text;
  };
  for (const auto& reader : all.readers) {
    if (reader.path == "/admin/invitations") continue;  // {} is a good request there
    CAPTURE(reader.path);
    check_problem(all.send(reader, padded(limits::kJsonBytesMax)), 422, "invalid_field");
    // Lists of chunks may be as long as a body.
    const bool lists_chunks = reader.path.ends_with("/code");
    const auto past = [&](std::size_t size) {
      const auto answer = all.send(reader, padded(size));
      lists_chunks ? check_problem(answer, 422, "invalid_field") : check_problem(answer, 413, "too_large");
    };
    past(limits::kJsonBytesMax + 1);
    past(limits::kBodyBytesMax);
  }
  // One past that is not read; the market itself says only the status, and that before the body is sent.
  const auto announced = [](std::size_t bytes) {
    return test::request_text("POST", "/user/login", "Content-Length: " + std::to_string(bytes) + "\r\n");
  };
  const auto past = test::answer_to(test::market_urls().front(), announced(limits::kBodyBytesMax + 1));
  CHECK(past.status == 413);
  CHECK(past.closes());
  test::Raw waits{test::market_urls().front()};
  REQUIRE(waits.send(announced(limits::kBodyBytesMax)));
  CHECK_FALSE(waits.ends(std::chrono::milliseconds{300}));
}

TEST_CASE("names, lists and numbers are accepted at their limits and refused one past them") {
  Everything all;
  const Reader& job = all.readers.at(3);
  const auto status = [&](const char* field, const json& value) {
    return all.send(job, replaced(job.good, field, value).dump()).status;
  };
  const std::string name(limits::kVariableNameBytesMax, 'v');
  CHECK(status("partial_results_vars", {name}) == 201);
  CHECK(status("partial_results_vars", {name + "v"}) == 422);
  // Bytes are counted, not characters.
  std::string umlauts;
  for (std::size_t i = 0; i < limits::kVariableNameBytesMax / 2; ++i) umlauts += "ü";
  CHECK(status("partial_results_vars", {umlauts}) == 201);
  CHECK(status("partial_results_vars", {umlauts + "v"}) == 422);
  CHECK(status("partial_results_vars", std::vector<std::string>(limits::kWatchedVariablesMax, "x")) == 201);
  CHECK(status("partial_results_vars", std::vector<std::string>(limits::kWatchedVariablesMax + 1, "x")) ==
        422);
  CHECK(status("code", std::string(limits::kInlineCodeBytesMax, 'x')) == 201);
  CHECK(status("code", std::string(limits::kInlineCodeBytesMax + 1, 'x')) == 413);
}
