// Chunks: kept once, seen only by those who brought them, and gone when nobody needs them.
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <pqxx/pqxx>
#include <random>
#include <thread>

#include "core/limits.h"
#include "core/zstd.h"
#include "market/service/accounts.h"
#include "market/service/blobs.h"
#include "market/store/job_files.h"
#include "market/store/jobs.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "tests/support/http.h"
#include "tests/support/volunteers.h"

using namespace remotist;
using namespace std::chrono_literals;
using market::Encoding;
using market::FileRole;
using market::UserOrAttempt;
using nlohmann::json;
using test::Database;
using test::Http;
namespace fs = std::filesystem;

namespace {

// A database and a folder of a test's own.
struct Shelf {
  Database database;
  fs::path folder = fs::temp_directory_path() / ("remotist-blobs-" + hex_of(random_bytes(8)));
  market::BlobFiles files{folder};
  pg::Session db{database.url()};
  pqxx::connection connection{database.url()};

  ~Shelf() { fs::remove_all(folder); }

  std::size_t files_on_disk() const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator{folder}) count += entry.is_regular_file();
    return count;
  }
  long long number(const std::string& query) {
    return pqxx::nontransaction{connection}.query_value<long long>(query);
  }
  Result<void> keep(const test::TestAccount& account, const std::string& bytes,
                    std::chrono::seconds pin = 1h) {
    return market::keep_chunk(db, files, {account.token_hash}, ChunkName::of(bytes), bytes, Encoding::plain,
                              pin);
  }
  // Everything that pins protect has had its day.
  void collect() {
    pqxx::nontransaction{connection}.exec("UPDATE blob SET check_after = now() - interval '1 s'");
    market::collect_chunks(db, files);
  }
  void collect_all_orphans(std::chrono::seconds age) {
    for (int shard = 0; shard < market::BlobFiles::kShards; ++shard)
      market::collect_orphans(db, files, shard, age);
  }
  JobId make_job(const test::TestAccount& account) {
    market::NewJob job;
    job.name = "j";
    job.exec_file = "main.R";
    return market::create_job(db, account.token_hash, job, {}, RequestId::make()).value().id;
  }
  Result<void> refer(const test::TestAccount& account, JobId job, const std::string& bytes) {
    const market::JobFile file{
        .path = "x", .size = static_cast<std::int64_t>(bytes.size()), .chunks = {ChunkName::of(bytes)}};
    return market::put_files(db, {account.token_hash}, job, FileRole::data, {file});
  }
};

// What the counters say is what is there.
void check_books(Shelf& shelf) {
  CHECK(shelf.number("SELECT count(*) FROM storage s WHERE used_bytes <> "
                     "(SELECT coalesce(sum(chunk_charge(b.size_bytes)), 0) FROM blob_presence p JOIN blob b "
                     "USING (sha256) "
                     "WHERE p.storage_id = s.id) + "
                     "(SELECT coalesce(sum(job_file_charge(f.attempt_number, f.size_bytes, f.inline_bytes)), "
                     "0) FROM job_file f "
                     "WHERE f.account_id = s.account_id)") == 0);
}

std::string code_of(const Result<void>& result) {
  return result.ok() ? "ok" : std::string{row_of(result.refusal().code).name};
}

}  // namespace

TEST_CASE("the same chunk of two accounts is one file, and each has brought its own") {
  Shelf shelf;
  const auto a = test::make_account(shelf.database.url(), 0);
  const auto b = test::make_account(shelf.database.url(), 0);
  const std::string bytes(1000, 'x');
  REQUIRE(shelf.keep(a, bytes).ok());
  REQUIRE(shelf.keep(a, bytes).ok());
  CHECK(shelf.files_on_disk() == 1);
  CHECK(market::present_chunks(shelf.db, {b.token_hash}, {ChunkName::of(bytes)})->empty());
  REQUIRE(shelf.keep(b, bytes).ok());
  CHECK(shelf.files_on_disk() == 1);
  CHECK(market::present_chunks(shelf.db, {b.token_hash}, {ChunkName::of(bytes)})->size() == 1);
  CHECK(shelf.number("SELECT count(*) FROM storage WHERE used_bytes = 4096") == 2);  // a block of the disk
  check_books(shelf);
}

TEST_CASE("a quota is full at its last byte, and one byte more changes nothing") {
  Shelf shelf;
  const auto account = test::make_account(shelf.database.url(), 0);
  pqxx::nontransaction{shelf.connection}.exec("UPDATE storage SET quota_bytes = 10000");
  REQUIRE(shelf.keep(account, std::string(5000, 'a')).ok());
  CHECK(code_of(shelf.keep(account, std::string(5001, 'b'))) == "quota_exceeded");
  CHECK(shelf.files_on_disk() == 1);
  CHECK(shelf.number("SELECT count(*) FROM blob") == 1);
  CHECK(shelf.keep(account, std::string(5000, 'c')).ok());
  CHECK(shelf.keep(account, std::string(5000, 'c')).ok());  // again: it is there already
  CHECK(code_of(shelf.keep(account, "d")) == "quota_exceeded");
  check_books(shelf);
}

TEST_CASE("files that come inline, and all that machines bring, count against their owner's quota") {
  Shelf shelf;
  const auto account = test::make_account(shelf.database.url(), 0);
  const auto machine = test::make_machine(shelf.database.url(), account);
  const auto used = [&] {
    return shelf.number("SELECT used_bytes FROM storage WHERE account_id IS NOT NULL");
  };
  market::NewJob wanted;
  wanted.name = "j";
  wanted.exec_file = "main.R";
  wanted.code = std::string(10'000, 'x');
  wanted.submit = true;
  const auto create = [&] {
    return market::create_job(shelf.db, account.token_hash, wanted, {}, RequestId::make());
  };
  const JobId job = create().value().id;
  CHECK(used() == 10'000);
  const auto attempt = test::run_on(shelf.database.url(), job.text(), machine);
  const UserOrAttempt caller{market::token_hash(machine.token),
                             market::AttemptClaim{job, attempt.number, market::token_hash(attempt.token)}};
  const std::string result(5000, 'r');
  REQUIRE(
      market::keep_chunk(shelf.db, shelf.files, caller, ChunkName::of(result), result, Encoding::plain).ok());
  const market::JobFile output{.path = "r", .size = 5000, .chunks = {ChunkName::of(result)}};
  REQUIRE(market::put_files(shelf.db, caller, job, FileRole::output, {output}).ok());
  CHECK(used() == 15'000);
  check_books(shelf);
  pqxx::nontransaction{shelf.connection}.exec(
      "UPDATE storage SET quota_bytes = 15000 WHERE account_id IS NOT NULL");
  CHECK(code_of(market::put_files(shelf.db, caller, job, FileRole::log,
                                  {{.path = "l", .size = 1, .text = "x"}})) == "quota_exceeded");
  const auto second = create();
  REQUIRE_FALSE(second.ok());
  CHECK(second.refusal().code == Code::quota_exceeded);

  // What the machine brought goes when another attempt brings something, and all of it with the job.
  test::lose(shelf.database.url(), job.text());
  CHECK(market::list_files(shelf.db, {account.token_hash}, job, FileRole::output, 1, 10)->files.size() == 1);
  const auto next = test::run_on(shelf.database.url(), job.text(), machine);
  CHECK(market::list_files(shelf.db, {account.token_hash}, job, FileRole::output, 1, 10)->files.empty());
  const UserOrAttempt later{caller.token_hash,
                            market::AttemptClaim{job, next.number, market::token_hash(next.token)}};
  REQUIRE(
      market::put_files(shelf.db, later, job, FileRole::log, {{.path = "l", .size = 1, .text = "x"}}).ok());
  CHECK(used() == 10'000 + 4096);
  check_books(shelf);
  {
    pqxx::work tx{shelf.connection};
    tx.exec("UPDATE attempt SET ended_at = now(), outcome = 'completed' WHERE ended_at IS NULL");
    tx.exec("UPDATE job SET state = 'completed', ended_at = now()");
    tx.commit();
  }
  REQUIRE(market::delete_job(shelf.db, account.token_hash, job).ok());
  CHECK(used() == 0);
  check_books(shelf);
}

TEST_CASE("a frame that a client packed badly is not what is stored") {
  Shelf shelf;
  const auto account = test::make_account(shelf.database.url(), 0);
  // Right bytes, and ten thousand empty blocks before the last one.
  const std::string bytes = "abcd";
  std::string frame{"\x28\xb5\x2f\xfd\x20\x04", 6};
  for (int i = 0; i < 10'000; ++i) frame += std::string(3, '\0');
  frame += std::string{"\x21\x00\x00", 3} + bytes;
  REQUIRE(zstd_decompress(frame, 100) == bytes);
  REQUIRE(market::keep_chunk(shelf.db, shelf.files, {account.token_hash}, ChunkName::of(bytes), frame,
                             Encoding::zstd)
              .ok());
  CHECK(shelf.number("SELECT stored_bytes FROM blob") < 100);
}

TEST_CASE("a file that was lost or damaged is mended by whoever uploads the chunk again") {
  Shelf shelf;
  const auto account = test::make_account(shelf.database.url(), 0);
  const auto other = test::make_account(shelf.database.url(), 0);
  const std::string bytes(5000, 'x');
  const JobId job = shelf.make_job(account);
  REQUIRE(shelf.keep(account, bytes).ok());
  REQUIRE(shelf.refer(account, job, bytes).ok());
  const auto read = [&] {
    return market::read_chunk(shelf.db, shelf.files, {account.token_hash}, job, ChunkName::of(bytes),
                              Encoding::plain);
  };
  const auto the_file = [&] {
    for (const auto& entry : fs::recursive_directory_iterator{shelf.folder}) {
      if (entry.is_regular_file() && entry.path().extension() != ".damaged") return entry.path();
    }
    return fs::path{};
  };
  fs::remove(the_file());
  CHECK_THROWS((void)read());
  REQUIRE(shelf.keep(account, bytes).ok());
  CHECK(read().value() == bytes);
  std::ofstream{the_file(), std::ios::trunc} << "rotten";
  CHECK_THROWS((void)read());
  REQUIRE(shelf.keep(other, bytes).ok());
  CHECK(read().value() == bytes);
  check_books(shelf);
}

TEST_CASE("what is pinned or referred to stays, and the rest goes with its file") {
  Shelf shelf;
  const auto account = test::make_account(shelf.database.url(), 0);
  const std::string pinned = "pinned";
  const std::string referred = "referred";
  const std::string idle = "idle";
  const JobId job = shelf.make_job(account);
  REQUIRE(shelf.keep(account, pinned, 1h).ok());
  REQUIRE(shelf.keep(account, referred, 0s).ok());
  REQUIRE(shelf.keep(account, idle, 0s).ok());
  REQUIRE(shelf.refer(account, job, referred).ok());
  shelf.collect();
  CHECK(shelf.files_on_disk() == 2);
  CHECK(shelf.number("SELECT used_bytes FROM storage") == 2 * 4096);
  CHECK(market::read_chunk(shelf.db, shelf.files, {account.token_hash}, job, ChunkName::of(referred),
                           Encoding::plain)
            .value() == referred);
  // What was collected can come back.
  REQUIRE(shelf.keep(account, idle, 0s).ok());
  CHECK(shelf.files_on_disk() == 3);

  REQUIRE(market::delete_job(shelf.db, account.token_hash, job).ok());
  pqxx::nontransaction{shelf.connection}.exec(
      "UPDATE blob_presence SET pinned_until = now() - interval '1 s'");
  shelf.collect();
  CHECK(shelf.files_on_disk() == 0);
  CHECK(shelf.number("SELECT count(*) FROM blob") == 0);
  CHECK(shelf.number("SELECT used_bytes FROM storage") == 0);
}

TEST_CASE("a file that the database does not know is deleted once it is old, others never") {
  Shelf shelf;
  const auto account = test::make_account(shelf.database.url(), 0);
  REQUIRE(shelf.keep(account, "known").ok());
  shelf.files.write({ChunkName::of("orphan"), GenerationId::make()}, "x");
  shelf.files.write({ChunkName::of("known"), GenerationId::make()}, "an older generation");
  shelf.collect_all_orphans(1h);
  CHECK(shelf.files_on_disk() == 3);
  shelf.collect_all_orphans(-1s);
  CHECK(shelf.files_on_disk() == 1);
}

TEST_CASE("uploading, referring, deleting and collecting at once never loses a chunk that a job refers to") {
  const auto seed = test::seed();
  CAPTURE(seed);
  Shelf shelf;
  std::atomic<bool> done = false;
  // Two markets collect.
  std::vector<std::jthread> collectors;
  for (int i = 0; i < 2; ++i) {
    collectors.emplace_back([&] {
      pg::Session db{shelf.database.url()};
      pqxx::connection connection{shelf.database.url()};
      while (!done) {
        pqxx::nontransaction{connection}.exec(
            "UPDATE blob SET check_after = now() - interval '1 s' WHERE sha256 IN (SELECT sha256 FROM blob "
            "FOR "
            "UPDATE SKIP LOCKED)");
        market::collect_chunks(db, shelf.files, {}, 0s);
      }
    });
  }
  std::vector<std::jthread> clients;
  std::atomic<int> kept = 0;
  for (unsigned i = 0; i < 4; ++i) {
    clients.emplace_back([&, i] {
      std::mt19937 random{seed + i};
      const auto account = test::make_account(shelf.database.url(), 0);
      pg::Session db{shelf.database.url()};
      const UserOrAttempt caller{account.token_hash};
      for (int round = 0; round < 60; ++round) {
        const std::string bytes(1 + random() % 6, 'x');  // six chunks that all fight for
        const auto chunk = ChunkName::of(bytes);
        const market::JobFile file{
            .path = "x", .size = static_cast<std::int64_t>(bytes.size()), .chunks = {chunk}};
        market::NewJob wanted;
        wanted.name = "j";
        wanted.exec_file = "main.R";
        const auto job = market::create_job(db, account.token_hash, wanted, {}, RequestId::make());
        CHECK(job.ok());
        // Without a pin the chunk may be gone before the job refers to it; that must be said, and is tried
        // again.
        for (bool referred = false; !referred;) {
          CHECK(market::keep_chunk(db, shelf.files, caller, chunk, bytes, Encoding::plain, 0s).ok());
          const auto put = market::put_files(db, caller, job->id, FileRole::data, {file});
          referred = put.ok();
          if (!referred) CHECK(code_of(put) == "chunks_missing");
        }
        const auto read = market::read_chunk(db, shelf.files, caller, job->id, chunk, Encoding::plain);
        CHECK((read.ok() && *read == bytes));
        kept += random() % 2 == 0 ? market::delete_job(db, account.token_hash, job->id).ok() : 1;
      }
    });
  }
  clients.clear();
  done = true;
  collectors.clear();
  CHECK(kept == 240);
  // Every chunk that a job refers to has its file, and no other file is left once all is quiet.
  shelf.collect();
  check_books(shelf);
  CHECK(shelf.number(
            "SELECT count(*) FROM job_file_chunk c LEFT JOIN blob b USING (sha256) WHERE b IS NULL") == 0);
  CHECK(static_cast<long long>(shelf.files_on_disk()) == shelf.number("SELECT count(*) FROM blob"));
}

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

TEST_CASE("an attempt uploads as much as its job asked for, and not a byte more") {
  Owner owner;
  const std::string url = test::env("REMOTIST_DATABASE_URL");
  const auto machine = test::make_machine(url, owner.account);
  const std::string job =
      owner.http
          .send("PUT", "/job/",
                {{"name", "j"}, {"exec_file", "m.R"}, {"code", "1"}, {"submit", true}, {"price", 0.1}},
                owner.account.token)
          .json()["id"];
  const auto attempt = test::run_on(url, job, machine);
  pqxx::connection connection{url};
  pqxx::nontransaction tx{connection};
  CHECK(tx.query_value<long long>("SELECT quota_bytes FROM storage WHERE job_id = $1", pqxx::params{job}) ==
        (1024LL + 4 * 1024) << 20);
  tx.exec("UPDATE storage SET quota_bytes = 9000 WHERE job_id = $1", pqxx::params{job});
  const std::vector<std::string> headers{"Authorization: Bearer " + machine.token, attempt.header};
  const auto put = [&](const std::string& bytes) {
    return owner.http.call("PUT", "/blob/" + ChunkName::of(bytes).hex(), bytes, headers);
  };
  CHECK(put(random_bytes(9001)).code() == "quota_exceeded");
  CHECK(put(random_bytes(9000)).status == 204);
  CHECK(put(random_bytes(1)).code() == "quota_exceeded");
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

TEST_CASE("a job has so many files and chunks, and not one more") {
  Shelf shelf;
  const auto account = test::make_account(shelf.database.url(), 0);
  const JobId job = shelf.make_job(account);
  const UserOrAttempt caller{account.token_hash};
  REQUIRE(shelf.keep(account, "x").ok());
  const auto fill = [&](std::size_t files, std::size_t chunks) {
    pqxx::work tx{shelf.connection};
    tx.exec("DELETE FROM job_file");
    tx.exec(
        "INSERT INTO job_file (job_id, account_id, role, path, size_bytes) SELECT $1, (SELECT id FROM "
        "account), "
        "'data', 'f' || n, 0 FROM generate_series(1, $2::int) n",
        pqxx::params{job.text(), files});
    tx.exec(
        "INSERT INTO job_file_chunk SELECT $1, 'data', 'f1', n, (SELECT sha256 FROM blob), (SELECT id FROM "
        "account) "
        "FROM generate_series(1, $2::int) n",
        pqxx::params{job.text(), chunks});
    tx.commit();
  };
  fill(limits::kJobFilesMax - 1, 0);
  CHECK(market::put_files(shelf.db, caller, job, FileRole::data, {{.path = "a", .text = ""}}).ok());
  CHECK(code_of(market::put_files(shelf.db, caller, job, FileRole::data, {{.path = "b", .text = ""}})) ==
        "too_large");
  fill(1, limits::kJobChunksMax - 1);
  const market::JobFile one{.path = "a", .size = 1, .chunks = {ChunkName::of("x")}};
  const market::JobFile two{.path = "a", .size = 2, .chunks = {ChunkName::of("x"), ChunkName::of("x")}};
  CHECK(code_of(market::put_files(shelf.db, caller, job, FileRole::data, {two})) == "too_large");
  CHECK(market::put_files(shelf.db, caller, job, FileRole::data, {one}).ok());
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
