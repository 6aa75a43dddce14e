// Chunks and files as clients and machines send and read them, over HTTP.
#include <doctest/doctest.h>
#include <pqxx/pqxx>

#include "core/chunk.h"
#include "core/id.h"
#include "core/limits.h"
#include "core/zstd.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "tests/support/http.h"
#include "tests/support/volunteers.h"

using namespace remotist;
using nlohmann::json;
using test::Http;

namespace {

struct Owner {
  test::TestAccount account = test::make_account(test::env("REMOTIST_DATABASE_URL"), 1'000'000);
  Http http{test::env("REMOTIST_URL")};

  std::vector<std::string> bearer() const { return {"Authorization: Bearer " + account.token}; }
  test::HttpAnswer put(const std::string& bytes, const std::string& name = {}) {
    return http.call("PUT", "/blob/" + (name.empty() ? ChunkName::of(bytes).hex() : name), bytes, bearer());
  }
  std::string new_job() {
    return http.send("PUT", "/job/", {{"name", "j"}, {"exec_file", "main.R"}}, account.token).json()["id"];
  }
  test::HttpAnswer refer(const std::string& job, const std::string& chunk, std::size_t size) {
    return http.send("POST", "/job/" + job + "/data", {{"path", "x"}, {"size", size}, {"chunks", {chunk}}},
                     account.token);
  }
  test::HttpAnswer get(const std::string& chunk, const std::string& job,
                       const std::string& encoding = "identity") {
    auto headers = bearer();
    headers.push_back("Accept-Encoding: " + encoding);
    return http.call("GET", "/blob/" + chunk + "?job=" + job, {}, headers);
  }
  json missing(const json& chunks) {
    return http.send("POST", "/blob/missing", {{"chunks", chunks}}, account.token).json()["missing"];
  }
};

}  // namespace

TEST_CASE("a chunk is asked for, sent, referred to and read, plain and as zstd") {
  Owner owner;
  const std::string bytes = random_bytes(500) + std::string(100'000, 'x');
  const std::string chunk = ChunkName::of(bytes).hex();
  CHECK(owner.missing({chunk, chunk}) == json::array({chunk}));
  CHECK(owner.put(bytes).status == 204);
  CHECK(owner.missing({chunk}) == json::array());
  const std::string job = owner.new_job();
  CHECK(owner.get(chunk, job).code() == "not_found");  // nothing refers to it yet
  CHECK(owner.refer(job, chunk, bytes.size()).status == 204);
  const auto plain = owner.get(chunk, job);
  CHECK(plain.status == 200);
  CHECK(plain.body == bytes);
  CHECK(plain.headers.count("content-encoding") == 0);
  const auto packed = owner.get(chunk, job, "gzip, zstd");
  CHECK(packed.headers.at("content-encoding") == "zstd");
  CHECK(packed.body.size() < 2000);
  CHECK(zstd_decompress(packed.body, limits::kChunkBytesMax) == bytes);
  CHECK(owner.get(chunk, job, "zstd;q=0").body == bytes);
  CHECK(owner.get(chunk, job, "br, zstd;q=0.5").headers.at("content-encoding") == "zstd");

  const std::string other = random_bytes(100) + std::string(5000, 'y');
  auto headers = owner.bearer();
  headers.emplace_back("Content-Encoding: zstd");
  CHECK(owner.http.call("PUT", "/blob/" + ChunkName::of(other).hex(), zstd_compress(other), headers).status ==
        204);
  CHECK(owner.refer(job, ChunkName::of(other).hex(), other.size()).status == 204);
  CHECK(owner.get(ChunkName::of(other).hex(), job).body == other);

  const auto files = owner.http.get("/job/" + job + "/data", owner.account.token).json()["files"];
  CHECK(files ==
        json::array({{{"path", "x"}, {"size", other.size()}, {"chunks", {ChunkName::of(other).hex()}}}}));
}

TEST_CASE("a chunk that is not what its name says, too large or torn is refused and not kept") {
  Owner owner;
  const std::string right = random_bytes(100);
  CHECK(owner.put("something else", ChunkName::of(right).hex()).json()["field"] == "sha256");
  CHECK(owner.put(right, "ABC").code() == "invalid_field");
  CHECK(owner.put(right, std::string(64, 'G')).code() == "invalid_field");
  CHECK(owner.missing({ChunkName::of(right).hex()}).size() == 1);

  const std::string largest = random_bytes(limits::kChunkBytesMax);
  CHECK(owner.put(largest).status == 204);
  CHECK(owner.put(largest + "x").code() == "too_large");
  CHECK(owner.put("").status == 204);

  const auto zstd = [&](const std::string& frame, const std::string& bytes) {
    auto headers = owner.bearer();
    headers.emplace_back("Content-Encoding: zstd");
    return owner.http.call("PUT", "/blob/" + ChunkName::of(bytes).hex(), frame, headers).code();
  };
  CHECK(zstd(zstd_compress(largest + "x"), largest + "x") == "malformed_request");
  CHECK(zstd(zstd_compress(right).substr(1), right) == "malformed_request");
  CHECK(zstd(zstd_compress(right), "another") == "invalid_field");
  auto headers = owner.bearer();
  headers.emplace_back("Content-Encoding: gzip");
  CHECK(owner.http.call("PUT", "/blob/" + ChunkName::of(right).hex(), right, headers).code() ==
        "unsupported_media_type");
  CHECK(owner.missing({ChunkName::of(right).hex()}).size() == 1);

  const json most(limits::kChunksAskedMax, std::string(64, 'a'));
  CHECK(owner.missing(most).size() == 1);
  json more = most;
  more.push_back(std::string(64, 'a'));
  CHECK(owner.http.send("POST", "/blob/missing", {{"chunks", more}}, owner.account.token).code() ==
        "too_large");
}

TEST_CASE("naming another account's chunk gives nothing and reveals nothing") {
  Owner victim;
  Owner thief;
  const std::string secret = random_bytes(1000);
  const std::string stolen = ChunkName::of(secret).hex();
  const std::string invented = ChunkName::of(random_bytes(1000)).hex();
  const std::string victims_job = victim.new_job();
  REQUIRE(victim.put(secret).status == 204);
  REQUIRE(victim.refer(victims_job, stolen, secret.size()).status == 204);

  // Every answer about the stolen name is the answer about one that does not exist, but for the name itself.
  const std::string job = thief.new_job();
  const auto same = [&](const auto& ask) {
    const auto told = [&](const std::string& name) {
      auto document = ask(name).json();
      document.erase("request_id");
      std::string text = document.dump();
      if (const auto at = text.find(name); at != std::string::npos) text.erase(at, name.size());
      return text;
    };
    CHECK(told(stolen) == told(invented));
    return ask(stolen);
  };
  CHECK(same([&](const std::string& name) {
          return thief.http.send("POST", "/blob/missing", {{"chunks", {name}}}, thief.account.token);
        })
            .json()["missing"]
            .size() == 1);
  CHECK(same([&](const std::string& name) { return thief.refer(job, name, secret.size()); }).code() ==
        "chunks_missing");
  CHECK(same([&](const std::string& name) { return thief.get(name, job); }).code() == "not_found");
  CHECK(same([&](const std::string& name) { return thief.get(name, victims_job); }).code() == "not_found");
  CHECK(thief.http.get("/job/" + job + "/data", thief.account.token).json()["files"].empty());
  // Not even a machine of the thief's that runs the thief's job.
  const std::string url = test::env("REMOTIST_DATABASE_URL");
  const auto machine = test::make_machine(url, thief.account);
  const std::string running =
      thief.http
          .send("PUT", "/job/", {{"name", "j"}, {"exec_file", "m.R"}, {"code", "1"}, {"submit", true}},
                thief.account.token)
          .json()["id"];
  const auto attempt = test::run_on(url, running, machine);
  const std::vector<std::string> headers{"Authorization: Bearer " + machine.token, attempt.header};
  for (const auto& through : {running, job, victims_job}) {
    CAPTURE(through);
    const auto answer = thief.http.call("GET", "/blob/" + stolen + "?job=" + through, {}, headers);
    CHECK(answer.code() == (through == running ? "not_found" : "stale_attempt"));
  }
  // Who has the bytes may have them: that is all that uploading them oneself gives.
  CHECK(thief.put(secret).status == 204);
  CHECK(thief.refer(job, stolen, secret.size()).status == 204);
}

TEST_CASE(
    "a machine reads its job's files and brings the results; once its attempt has ended it does neither") {
  Owner owner;
  const std::string url = test::env("REMOTIST_DATABASE_URL");
  const auto machine = test::make_machine(url, owner.account);
  const std::string data = random_bytes(1000);
  const std::string job = owner.new_job();
  const std::string path = "/job/" + job;
  REQUIRE(owner.put(data).status == 204);
  REQUIRE(owner.refer(job, ChunkName::of(data).hex(), data.size()).status == 204);
  REQUIRE(
      owner.http.send("POST", path + "/code", {{"path", "main.R"}, {"text", "x <- 1"}}, owner.account.token)
          .status == 204);
  REQUIRE(owner.http.send("POST", path + "/submit", json::object(), owner.account.token).status == 200);
  const auto attempt = test::run_on(url, job, machine);
  const std::vector<std::string> headers{"Authorization: Bearer " + machine.token, attempt.header};
  const auto call = [&](const char* method, const std::string& where, const std::string& body = {}) {
    return owner.http.call(method, where, body, headers);
  };
  CHECK(call("GET", path + "/code").json()["files"][0]["text"] == "x <- 1");
  CHECK(call("GET", path + "/data").json()["files"][0]["chunks"][0] == ChunkName::of(data).hex());
  CHECK(call("GET", "/blob/" + ChunkName::of(data).hex() + "?job=" + job).body == data);
  CHECK(call("POST", path + "/data", R"({"path": "x", "text": "mine"})").code() == "forbidden");

  const std::string result = random_bytes(2000);
  const std::string chunk = ChunkName::of(result).hex();
  const std::string output =
      json{{"files", {{{"path", "result.rds"}, {"size", result.size()}, {"chunks", {chunk}}}}}}.dump();
  CHECK(call("POST", path + "/output", output).code() == "chunks_missing");
  CHECK(call("PUT", "/blob/" + chunk, result).status == 204);
  CHECK(call("POST", "/blob/missing", json{{"chunks", {chunk}}}.dump()).json()["missing"].empty());
  CHECK(call("POST", path + "/output", output).status == 204);
  CHECK(call("POST", path + "/log", R"({"path": "stdout", "text": "hello\n"})").status == 204);
  CHECK(owner.get(chunk, job).body == result);
  CHECK(owner.http.get(path + "/log", owner.account.token).json()["files"][0]["text"] == "hello\n");
  // What the machine brought is not in the owner's storage, and the owner's word is not the machine's.
  CHECK(owner.missing({chunk}).size() == 1);
  CHECK(
      owner.http.send("POST", path + "/output", {{"path", "x"}, {"text", "1"}}, owner.account.token).code() ==
      "forbidden");

  test::lose(url, job);
  CHECK(call("GET", path + "/code").code() == "stale_attempt");
  CHECK(call("GET", "/blob/" + ChunkName::of(data).hex() + "?job=" + job).code() == "stale_attempt");
  CHECK(call("PUT", "/blob/" + chunk, result).code() == "stale_attempt");
  CHECK(call("POST", "/blob/missing", json{{"chunks", {chunk}}}.dump()).code() == "stale_attempt");
  CHECK(call("POST", path + "/log", R"({"path": "stdout", "text": "late"})").code() == "stale_attempt");
  CHECK(owner.http.get(path + "/log", owner.account.token).json()["files"][0]["text"] == "hello\n");

  const auto wrong = [&](const std::string& header) {
    return owner.http.call("GET", path + "/code", {}, {headers[0], "Remotist-Attempt: " + header}).code();
  };
  const auto second = test::run_on(url, job, machine);
  CHECK(wrong(job + " 2 " + second.token) == "");
  CHECK(wrong(job + " 2 " + attempt.token) == "stale_attempt");
  CHECK(wrong(job + " 1 " + attempt.token) == "stale_attempt");
  CHECK(wrong(job + " 3 " + second.token) == "stale_attempt");
  CHECK(wrong(uuid_text(uuid_v7()) + " 2 " + second.token) == "stale_attempt");
  for (const char* form : {"x", "1 2 3", "", "a b c d"}) {
    CAPTURE(form);
    CHECK(wrong(form) == (*form == '\0' ? "unauthenticated" : "invalid_field"));
  }
  CHECK(wrong(job + " 0 " + second.token) == "invalid_field");
}

TEST_CASE("machines bring for one job what fits a quarter of its owner's storage, and not a byte more") {
  Owner owner;
  const std::string url = test::env("REMOTIST_DATABASE_URL");
  const auto machine = test::make_machine(url, owner.account);
  pqxx::connection connection{url};
  pqxx::nontransaction tx{connection};
  tx.exec("UPDATE storage SET quota_bytes = $1 WHERE account_id = $2",
          pqxx::params{limits::kJobResultsShare * 20'000, owner.account.id});
  const std::string job = owner.http
                              .send("PUT", "/job/",
                                    {{"name", "j"},
                                     {"exec_file", "m.R"},
                                     {"code", "1"},
                                     {"submit", true},
                                     {"price", 0.1},
                                     {"ram", 4096},
                                     {"disc", 4096}},
                                    owner.account.token)
                              .json()["id"];
  const auto attempt = test::run_on(url, job, machine);
  const std::vector<std::string> headers{"Authorization: Bearer " + machine.token, attempt.header};
  const auto used = [&] {
    return tx.query_value<long long>("SELECT used_bytes FROM storage WHERE account_id = $1",
                                     pqxx::params{owner.account.id});
  };
  const auto put = [&](const std::string& bytes) {
    return owner.http.call("PUT", "/blob/" + ChunkName::of(bytes).hex(), bytes, headers);
  };
  const auto post = [&](const std::string& role, const json& file) {
    return owner.http.call("POST", "/job/" + job + "/" + role, file.dump(), headers);
  };
  const auto before = used();
  const std::string first = random_bytes(10'000);
  CHECK(put(first).status == 204);
  CHECK(used() == before + 10'000);
  CHECK(put(random_bytes(10'001)).code() == "quota_exceeded");
  CHECK(used() == before + 10'000);
  CHECK(put(random_bytes(10'000)).status == 204);
  CHECK(put(random_bytes(1)).code() == "quota_exceeded");
  // A file that has a chunk is charged in its place; to say it again changes nothing.
  const json output{{"path", "r"}, {"size", 10'000}, {"chunks", {ChunkName::of(first).hex()}}};
  for (int i = 0; i < 2; ++i) {
    CHECK(post("output", output).status == 204);
    CHECK(used() == before + 20'000);
  }
  CHECK(
      owner.http.call("POST", "/blob/missing", json{{"chunks", {ChunkName::of(first).hex()}}}.dump(), headers)
          .json()["missing"]
          .empty());
  CHECK(post("log", {{"path", "l"}, {"text", "x"}}).code() == "quota_exceeded");
  CHECK(post("output", {{"path", "again"}, {"size", 10'000}, {"chunks", {ChunkName::of(first).hex()}}})
            .code() == "quota_exceeded");
  CHECK(used() == before + 20'000);
  // What a file no longer has is looked at when chunks are next collected, for nobody is charged for it.
  CHECK(post("output", {{"path", "r"}, {"size", 0}, {"chunks", json::array()}}).status == 204);
  CHECK(tx.query_value<bool>("SELECT check_after <= now() FROM blob WHERE sha256 = decode($1, 'hex')",
                             pqxx::params{ChunkName::of(first).hex()}));
}

TEST_CASE("files of a job are all stored or none, and have limits") {
  Owner owner;
  const std::string path = "/job/" + owner.new_job();
  const auto post = [&](const json& files) {
    return owner.http.send("POST", path + "/data", {{"files", files}}, owner.account.token);
  };
  const auto stored = [&] {
    return owner.http.get(path + "/data", owner.account.token).json()["files"].size();
  };
  const std::string absent = ChunkName::of(random_bytes(8)).hex();
  const json good{{"path", "a/b.csv"}, {"text", "1"}};
  for (const json& bad :
       std::vector<json>{{{"path", "../b"}, {"text", "1"}},
                         {{"path", "/b"}, {"text", "1"}},
                         {{"path", "a/b.csv"}, {"text", "2"}},
                         {{"path", "b"}},
                         {{"path", "b"}, {"text", "1"}, {"size", 1}},
                         {{"path", "b"}, {"text", 1}},
                         {{"path", "b"}, {"size", -1}},
                         {{"path", "b"}, {"size", 1}, {"chunks", json::array()}},
                         {{"path", "b"}, {"size", 1}, {"chunks", {"x"}}},
                         {{"path", "b"}, {"size", 1}, {"chunks", {absent}}},
                         {{"path", "b"}, {"text", "1"}, {"mode", "x"}},
                         {{"path", "b"}, {"text", std::string(limits::kInlineCodeBytesMax + 1, 'x')}},
                         "b"}) {
    CAPTURE(bad.dump().substr(0, 100));
    const auto answer = post({good, bad});
    CHECK(answer.status >= 400);
    CHECK(answer.status < 500);
    CHECK(stored() == 0);
  }
  CHECK(post({{{"path", "b"}, {"text", "1"}, {"mode", 1}}}).json()["field"] == "files[0].mode");
  CHECK(post({good, {{"path", "c"}, {"text", std::string(limits::kInlineCodeBytesMax, 'x')}}}).status == 204);
  CHECK(stored() == 2);

  // Inline bytes of the whole job: 1 MiB, of which some are there.
  json most = json::array();
  const auto left = limits::kJobInlineBytesMax - limits::kInlineCodeBytesMax - 1;
  for (std::size_t i = 0, rest = left; rest > 0; ++i) {
    const auto size = std::min(rest, limits::kInlineCodeBytesMax);
    most.push_back({{"path", "m" + std::to_string(i)}, {"text", std::string(size, 'x')}});
    rest -= size;
  }
  CHECK(post(most).status == 204);
  CHECK(post({{{"path", "one"}, {"text", "x"}}}).code() == "too_large");
  CHECK(post({{{"path", "none"}, {"text", ""}}}).status == 204);
}

TEST_CASE("what was acknowledged is there after the market and the database were killed") {
  Owner owner;
  const std::string bytes = random_bytes(100'000);
  const std::string job = owner.new_job();
  REQUIRE(owner.put(bytes).status == 204);
  REQUIRE(owner.refer(job, ChunkName::of(bytes).hex(), bytes.size()).status == 204);
  test::kill_part("market");
  test::kill_part("postgres");
  test::bring_up();
  CHECK(owner.get(ChunkName::of(bytes).hex(), job).body == bytes);
}

TEST_CASE("a client's files stand in one folder, whatever request and role they come in") {
  Owner owner;
  const std::string job = owner.new_job();
  const auto send = [&](const std::string& role, const std::vector<std::string>& paths) {
    json files = json::array();
    for (const auto& path : paths) files.push_back({{"path", path}, {"text", "x"}});
    const auto answer =
        owner.http.send("POST", "/job/" + job + "/" + role, {{"files", files}}, owner.account.token);
    return answer.status == 204 ? "" : answer.json()["field"].get<std::string>();
  };
  CHECK(send("data", {"a", "a/b"}) == "path");
  CHECK(send("code", {"main.R", "src/f.R"}).empty());
  CHECK(send("data", {"main.R/x"}) == "path");
  CHECK(send("data", {"src"}) == "path");
  CHECK(send("data", {"src/f.R/x", "y"}) == "path");
  CHECK(send("code", {"src"}) == "path");
  CHECK(send("data", {"src/g.R", "src.R", "sr"}).empty());
  CHECK(owner.http.get("/job/" + job + "/data", owner.account.token).json()["files"].size() == 3);
}
