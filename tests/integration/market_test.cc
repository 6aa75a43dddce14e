// The market as a client sees it: over HTTP, against the running stack.
#include <doctest/doctest.h>

#include "core/amqp/queues.h"
#include "core/digest.h"
#include "core/limits.h"
#include "market/service/peek_queue.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"
#include "tests/support/registered.h"

using namespace remotist;
using nlohmann::json;
using test::fresh_email;
using test::Http;
using test::registered_token;

namespace {

json small_job() {
  return {{"name", "hello"}, {"exec_file", "main.R"}, {"code", "x <- 1\n"}, {"price", 1.5}, {"submit", true}};
}

json with(json document, const char* field, const json& value) {
  document[field] = value;
  return document;
}

}  // namespace

TEST_CASE("a person registers, logs in, submits a job and sees it queued") {
  Http http{test::env("REMOTIST_URL")};
  const std::string token = registered_token(http);
  const auto created = http.send("PUT", "/job/", small_job(), token);
  REQUIRE(created.status == 201);
  const std::string id = created.json()["id"];
  CHECK(created.headers.at("location") == "/job/" + id);
  const auto viewed = http.get("/job/" + id, token);
  CHECK(viewed.status == 200);
  CHECK(viewed.json() == created.json());
  CHECK(viewed.json()["state"] == "queued");
  CHECK(viewed.json()["price"] == 1.5);
}

TEST_CASE("a job that is not submitted waits for its files, holding nothing") {
  Http http{test::env("REMOTIST_URL")};
  const std::string token = registered_token(http);
  const auto created =
      http.send("PUT", "/job/", {{"name", "later"}, {"exec_file", "a/b.R"}, {"price", 1e6}}, token);
  REQUIRE(created.status == 201);
  CHECK(created.json()["state"] == "uploading");
  CHECK(created.json()["submitted_at"].is_null());
}

TEST_CASE("an e-mail is registered once, whatever its case") {
  Http http{test::env("REMOTIST_URL")};
  const std::string email = fresh_email();
  CHECK(http.send("POST", "/user/register", {{"email", email}, {"password", "long enough"}}).status == 201);
  std::string shouted = email;
  for (char& c : shouted) c = static_cast<char>(std::toupper(c));
  const auto again = http.send("POST", "/user/register", {{"email", shouted}, {"password", "long enough"}});
  CHECK(again.status == 409);
  CHECK(again.code() == "email_taken");
}

TEST_CASE("wrong password and unknown e-mail give the same answer") {
  Http http{test::env("REMOTIST_URL")};
  const std::string email = fresh_email();
  REQUIRE(http.send("POST", "/user/register", {{"email", email}, {"password", "long enough"}}).status == 201);
  auto wrong = http.send("POST", "/user/login", {{"email", email}, {"password", "not the one"}}).json();
  auto unknown =
      http.send("POST", "/user/login", {{"email", fresh_email()}, {"password", "not the one"}}).json();
  CHECK(wrong["code"] == "wrong_credentials");
  wrong.erase("request_id");
  unknown.erase("request_id");
  CHECK(wrong == unknown);
}

TEST_CASE("another's job does not exist, and neither does anything without a token") {
  Http http{test::env("REMOTIST_URL")};
  const std::string owner = registered_token(http);
  const std::string other = registered_token(http);
  const std::string path =
      "/job/" + http.send("PUT", "/job/", small_job(), owner).json()["id"].get<std::string>();
  CHECK(http.get(path, owner).status == 200);
  CHECK(http.get(path, other).code() == "not_found");
  CHECK(http.get(path).code() == "unauthenticated");
  CHECK(http.get(path, "remotist_user_forged").code() == "unauthenticated");
  CHECK(http.get(path, owner + "x").code() == "unauthenticated");
  CHECK(http.send("PUT", "/job/", small_job()).code() == "unauthenticated");
  CHECK(http.get("/job/'%20OR%20'1'='1", owner).code() == "not_found");
}

TEST_CASE("a job dearer than the account's credits is refused and nothing is held") {
  Http http{test::env("REMOTIST_URL")};
  const std::string token = registered_token(http);
  const auto dear = http.send("PUT", "/job/", with(small_job(), "price", 100.000001), token);
  CHECK(dear.status == 402);
  CHECK(dear.code() == "insufficient_credits");
  CHECK(http.send("PUT", "/job/", with(small_job(), "price", 100), token).status == 201);
  CHECK(http.send("PUT", "/job/", with(small_job(), "price", 0.000001), token).code() ==
        "insufficient_credits");
  CHECK(http.send("PUT", "/job/", with(small_job(), "price", 0), token).status == 201);
}

TEST_CASE("the same request under one Idempotency-Key makes one job, another request is refused") {
  Http http{test::env("REMOTIST_URL")};
  const std::string token = registered_token(http);
  const std::string key = "Idempotency-Key: " + hex_of(random_bytes(8));
  const auto first = http.send("PUT", "/job/", small_job(), token, {key});
  REQUIRE(first.status == 201);
  for (int i = 0; i < 3; ++i) {
    const auto again = http.send("PUT", "/job/", small_job(), token, {key});
    CHECK(again.status == 201);
    CHECK(again.json()["id"] == first.json()["id"]);
  }
  CHECK(http.send("PUT", "/job/", with(small_job(), "name", "other"), token, {key}).code() ==
        "idempotency_mismatch");
  // Keys belong to an account.
  const std::string other = registered_token(http);
  CHECK(http.send("PUT", "/job/", small_job(), other, {key}).json()["id"] != first.json()["id"]);
  const auto keyed = [&](std::size_t bytes) {
    return http.send("PUT", "/job/", small_job(), other, {"Idempotency-Key: " + std::string(bytes, 'k')})
        .status;
  };
  CHECK(keyed(limits::kIdempotencyKeyBytesMax) == 201);
  CHECK(keyed(limits::kIdempotencyKeyBytesMax + 1) == 422);
}

TEST_CASE("bad input gets a problem document that names the field, and makes nothing") {
  Http http{test::env("REMOTIST_URL")};
  const std::string token = registered_token(http);
  struct Row {
    const char* field;
    json value;
  };
  for (const auto& [field, value] : std::vector<Row>{{"name", ""},
                                                     {"name", 7},
                                                     {"exec_file", "../../etc/passwd"},
                                                     {"cpu", 0},
                                                     {"cpu", "two"},
                                                     {"ram", -1},
                                                     {"disc", 1e300},
                                                     {"price", -1},
                                                     {"price", 1e-9},
                                                     {"price", "free"},
                                                     {"deadline", 0},
                                                     {"partial_results_vars", "x"},
                                                     {"submit", "yes"},
                                                     {"unheard_of", 1}}) {
    CAPTURE(field);
    const auto answer = http.send("PUT", "/job/", with(small_job(), field, value), token);
    CHECK(answer.status == 422);
    CHECK(answer.headers.at("content-type") == "application/problem+json");
    CHECK(answer.json()["field"] == field);
    CHECK(answer.json()["request_id"] == answer.headers.at("x-request-id"));
  }
  const std::vector<std::string> bearer{"Authorization: Bearer " + token};
  for (const char* body : {"{", "[]", "\"\\ud800\"", "\xff", "{\"name\":\"\\u0000\"}"}) {
    CAPTURE(body);
    const auto answer = http.call("PUT", "/job/", body, bearer);
    CHECK((answer.status == 400 || answer.status == 422));
    CHECK_FALSE(answer.code().empty());
  }
}

TEST_CASE("text from clients is data, never SQL or markup, and comes back as it was sent") {
  Http http{test::env("REMOTIST_URL")};
  const std::string token = registered_token(http);
  const std::string name = "Robert'); DROP TABLE job;-- \\ \" {1,2} ü 漢字 %s $1";
  const auto created = http.send("PUT", "/job/", with(small_job(), "name", name), token);
  REQUIRE(created.status == 201);
  const json watched{"`a'b`", "`x\\y`", "`{}`", "NULL", "fit$loss", "`a,b`", "`\"q\"`", "` lead`"};
  const auto listed = http.send("PUT", "/job/", with(small_job(), "partial_results_vars", watched), token);
  REQUIRE(listed.status == 201);
  CHECK(http.get("/job/" + created.json()["id"].get<std::string>(), token).json()["name"] == name);
  CHECK(http.get("/job/" + listed.json()["id"].get<std::string>(), token).json()["partial_results_vars"] ==
        watched);
}

TEST_CASE("paths and methods that do not exist are told apart") {
  Http http{test::env("REMOTIST_URL")};
  CHECK(http.get("/nope").code() == "not_found");
  CHECK(http.get("/../../etc/passwd").code() == "not_found");
  CHECK(http.get("/job//").code() == "not_found");
  const auto wrong = http.call("DELETE", "/user/login");
  CHECK(wrong.status == 405);
  CHECK(wrong.headers.at("allow") == "POST");
}

TEST_CASE("a body larger than the limit is refused and the market lives on") {
  Http http{test::env("REMOTIST_URL")};
  CHECK(http.call("POST", "/user/login", std::string(limits::kJsonBytesMax + 1, ' ')).code() == "too_large");
  // At the limit it is read, and found too large for JSON; one past it, it is not even read.
  CHECK(http.call("POST", "/user/login", std::string(limits::kBodyBytesMax, ' ')).code() == "too_large");
  const auto past = http.call("POST", "/user/login", std::string(limits::kBodyBytesMax + 1, ' '));
  CHECK((past.status == 413 || past.status == 0));
  CHECK(http.get("/healthz").status == 200);
}

TEST_CASE("metrics and the OpenAPI document are served") {
  Http http{test::market_urls().front()};
  const auto metrics = http.get("/metrics");
  CHECK(metrics.status == 200);
  CHECK(metrics.body.find("remotist_requests_total{") != std::string::npos);
  CHECK(metrics.body.find("remotist_event_loop_lag_seconds_count") != std::string::npos);
  CHECK(http.call("GET", "/metrics", {}, {"X-Forwarded-For: 127.0.0.1"}).code() == "forbidden");
  CHECK(http.get("/openapi.json").json()["openapi"] == "3.1.0");
}

TEST_CASE("the page for people is served with a policy that admits it alone") {
  Http http{test::env("REMOTIST_URL")};
  const auto page = http.get("/docs/");
  CHECK(page.status == 200);
  CHECK(page.headers.at("content-type") == "text/html; charset=utf-8");
  CHECK(page.headers.at("referrer-policy") == "no-referrer");
  CHECK(page.headers.at("x-content-type-options") == "nosniff");
  const std::string& policy = page.headers.at("content-security-policy");
  CHECK(policy.starts_with("default-src 'none'; connect-src 'self'; "));
  for (const std::string name : {"script", "style"}) {
    CAPTURE(name);
    const auto from = page.body.find("<" + name + ">") + name.size() + 2;
    const auto text = page.body.substr(from, page.body.find("</" + name + ">") - from);
    CHECK(policy.find(name + "-src 'sha256-" + base64_of(sha256(text)) + "'") != std::string::npos);
  }
  CHECK(http.get("/docs").body == page.body);
}

TEST_CASE("the root leads to the page for people") {
  Http http{test::env("REMOTIST_URL")};
  for (const char* path : {"/", "/?from=somewhere"}) {
    CAPTURE(path);
    const auto root = http.get(path);
    CHECK(root.status == 308);
    CHECK(root.headers.at("location") == "/docs/");
    CHECK(root.body.empty());
  }
  CHECK(http.call("POST", "/").headers.at("allow") == "GET");
  CHECK(http.get("//").code() == "not_found");
}

TEST_CASE("a submitted job reaches the queue") {
  Http http{test::env("REMOTIST_URL")};
  const std::string token = registered_token(http);
  const std::string id = http.send("PUT", "/job/", small_job(), token).json()["id"];
  amqp::Connection connection{*amqp::Address::parse(test::env("REMOTIST_AMQP_URL")), {}};
  // Other tests' messages are there too; take them off until ours comes.
  CHECK(test::eventually([&] {
    const auto message = connection.get(amqp::kJobsReady);
    if (!message) return false;
    connection.ack(message->tag);
    return json::parse(message->body)["jobs"] == json{id};
  }));
}
