// Chunks in database and files: kept once, counted, and gone when nobody needs them.
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
#include "market/service/delete_job.h"
#include "market/service/put_job_files.h"
#include "market/store/job_files.h"
#include "market/store/jobs.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "tests/support/volunteers.h"

using namespace remotist;
using namespace std::chrono_literals;
using market::Encoding;
using market::FileRole;
using market::UserOrAttempt;
using test::Database;
namespace fs = std::filesystem;

namespace {

// A database and a folder of a test's own.
struct Shelf {
  Database database;
  fs::path folder = fs::temp_directory_path() / ("remotist-blobs-" + hex_of(random_bytes(8)));
  market::BlobFiles files{folder};
  pg::Connection db{database.url()};
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
  CHECK(shelf.number(
            "SELECT count(*) FROM storage s WHERE used_bytes <> "
            "(SELECT coalesce(sum(chunk_charge(b.size_bytes)), 0) FROM blob_presence p JOIN blob b "
            "USING (sha256) "
            "WHERE p.storage_id = s.id) + "
            "(SELECT coalesce(sum(job_file_charge(f.attempt_number, f.size_bytes, f.inline_bytes)), "
            "0) FROM job_file f "
            "WHERE f.account_id = s.account_id) + "
            "(SELECT coalesce(sum(a.used_bytes), 0) FROM storage a WHERE a.owner_id = s.account_id)") == 0);
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
  CHECK(shelf.number("SELECT count(*) FROM storage WHERE used_bytes = 4096") == 2);  // a block of the disc
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
  const UserOrAttempt caller{token_hash(machine.token),
                             market::AttemptClaim{job, attempt.number, token_hash(attempt.token)}};
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
  CHECK(market::list_files(shelf.db, {account.token_hash}, job, FileRole::output, {}, 1, 10)->files.size() ==
        1);
  pqxx::nontransaction{shelf.connection}.exec(
      "UPDATE storage SET quota_bytes = 60000 WHERE account_id IS NOT NULL");
  const auto next = test::run_on(shelf.database.url(), job.text(), machine);
  CHECK(market::list_files(shelf.db, {account.token_hash}, job, FileRole::output, {}, 1, 10)->files.empty());
  const UserOrAttempt later{caller.token_hash,
                            market::AttemptClaim{job, next.number, token_hash(next.token)}};
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

TEST_CASE("a lost or damaged file is replaced when the chunk is uploaded again") {
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
      pg::Connection db{shelf.database.url()};
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
      pg::Connection db{shelf.database.url()};
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
