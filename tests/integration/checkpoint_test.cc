// Checkpoints in the market: recorded whole or not at all, bounded, and gone with their job.
#include <doctest/doctest.h>
#include <format>

#include "core/chunk.h"
#include "core/digest.h"
#include "core/limits.h"
#include "market/service/blobs.h"
#include "market/store/checkpoints.h"
#include "tests/support/checkpoints.h"
#include "worker/store/reaping.h"

using namespace remotist;
using namespace std::chrono_literals;
using nlohmann::json;
using test::CheckpointedJob;
using test::manifest;

namespace {

std::vector<int> sequences_of(const json& checkpoints) {
  std::vector<int> sequences;
  for (const auto& each : checkpoints) sequences.push_back(each["sequence"]);
  return sequences;
}

// Chunks of 4 KiB, the least that is charged.
std::string chunk_bytes(int which) {
  return std::format("{:04096}", which);
}
constexpr std::int64_t kChunk = 4096;

// The account may have checkpoints of so many chunks for one job.
void allow(const CheckpointedJob& job, int chunks) {
  job.execute(std::format("UPDATE storage SET quota_bytes = {} WHERE account_id = '{}'",
                          chunks * kChunk * limits::kJobCheckpointsShare, job.owner.id));
}

std::int64_t stored(const CheckpointedJob& job) {
  return job.number("SELECT used_bytes FROM storage WHERE job_id IS NOT NULL AND attempt_number IS NULL");
}

// What the worker's reaper does, until nothing is left to do.
void sweep(const CheckpointedJob& job) {
  pg::Connection db{job.database_url()};
  while (worker::empty_released_storages(db) > 0) {
  }
}

}  // namespace

TEST_CASE(
    "a checkpoint that was recorded is listed for its owner, and for its machine with all that it said") {
  CheckpointedJob job{{{"partial_results_vars", {"x"}}}};
  job.watch({1, 2});
  auto said = manifest(1, {job.upload("one"), job.upload("two"), job.upload("one")});
  said["packages"] = {"MASS 7.3-65"};
  said["progress"] = {{"fraction", 0.5}, {"message", "half\nof it"}};
  said["watched"] = {{"x", 2}};
  said["log"] = job.upload("log so far");
  said["log_left_out"] = 7;
  CHECK(job.recorded(said) == 1);

  const auto kept = job.kept();
  REQUIRE(kept.size() == 1);
  CHECK(kept[0]["sequence"] == 1);
  CHECK(kept[0]["attempt"] == 1);
  CHECK(kept[0]["usable"] == true);
  CHECK(kept[0]["why"].is_null());
  for (const char* field :
       {"size_bytes", "sent_bytes", "pause_ms", "position", "r_version", "architecture", "packages"})
    CHECK(kept[0][field] == said[field]);

  job.end(AttemptOutcome::lost);
  job.run();
  const auto usable = job.usable();
  REQUIRE(usable.size() == 1);
  for (const auto& [field, value] : said.items()) {
    CAPTURE(field);
    if (field != "chunks" && field != "age_ms") CHECK(usable[0][field] == value);
  }
  CHECK(usable[0]["age_ms"].get<std::int64_t>() >= 10);
  CHECK(usable[0]["age_ms"].get<std::int64_t>() < 600'000);
  const auto chunks = job.call("GET", job.path("/checkpoint/1"));
  CHECK(chunks.json()["chunks"] == said["chunks"]);
  CHECK(job.call("GET", job.path("/checkpoint/2")).code() == "not_found");
  CHECK(job.call("GET", "/blob/" + ChunkName::of("two").hex() + "?job=" + job.job).body == "two");
  CHECK(job.call("GET", "/blob/" + said["log"].get<std::string>() + "?job=" + job.job).body == "log so far");
  // Its owner has no use for them.
  CHECK(job.http.get("/blob/" + ChunkName::of("two").hex() + "?job=" + job.job, job.owner.token).status ==
        404);
}

TEST_CASE("the same checkpoint recorded twice is recorded once, and an older number is refused") {
  CheckpointedJob job;
  const auto chunk = job.upload("one");
  CHECK(job.recorded(manifest(5, {chunk})) == 1);
  CHECK(job.recorded(manifest(5, {chunk})) == 1);
  CHECK(job.recorded(manifest(6, {chunk})) == 2);
  CHECK(job.recorded(manifest(5, {chunk})) == 1);
  const auto older = job.record(manifest(4, {chunk}));
  CHECK(older.code() == "invalid_field");
  CHECK(older.json()["field"] == "number");
  CHECK(job.attempts()[0]["checkpoints"] == 2);
  CHECK(sequences_of(job.kept()) == std::vector{2, 1});
}

TEST_CASE("only the current attempt's machine records checkpoints") {
  CheckpointedJob job;
  const auto chunk = job.upload("one");
  CHECK(job.recorded(manifest(1, {chunk})) == 1);
  const auto first = job.attempt;
  const auto first_machine = job.machine;
  job.end(AttemptOutcome::lost);
  CHECK(job.record(manifest(2, {chunk})).code() == "stale_attempt");
  CHECK(job.put_chunk("two").code() == "stale_attempt");
  CHECK(job.call("GET", job.path("/checkpoint")).code() == "stale_attempt");
  CHECK(job.resume(1).code() == "stale_attempt");
  CHECK(job.call("POST", job.path("/checkpoint/note"), json{{"interval_ms", 1}}).code() == "stale_attempt");
  job.run();
  // With the new attempt's number and token, but from the old machine.
  const auto stolen = job.http.call("POST", job.path("/checkpoint"), manifest(1, {chunk}).dump(),
                                    {"Authorization: Bearer " + first_machine.token, job.attempt.header});
  CHECK(stolen.code() == "stale_attempt");
  CHECK(sequences_of(job.kept()) == std::vector{1});
  CHECK(first.number == 1);
}

TEST_CASE("a checkpoint with a chunk that is not there is not recorded at all") {
  CheckpointedJob job, other;
  const auto mine = job.upload("mine");
  const auto absent = ChunkName::of("absent").hex();
  CHECK(job.record(manifest(1, {mine, absent})).code() == "chunks_missing");
  // Nor with a chunk of another job, of its own results, or of its owner.
  const auto others = other.upload("of another job");
  CHECK(job.record(manifest(1, {mine, others})).code() == "chunks_missing");
  CHECK(job.call("PUT", "/blob/" + ChunkName::of("a result").hex(), std::string{"a result"}).status == 204);
  CHECK(job.record(manifest(1, {mine, ChunkName::of("a result").hex()})).code() == "chunks_missing");
  CHECK(job.http
            .call("PUT", "/blob/" + ChunkName::of("data").hex(), "data",
                  {"Authorization: Bearer " + job.owner.token})
            .status == 204);
  CHECK(job.record(manifest(1, {mine, ChunkName::of("data").hex()})).code() == "chunks_missing");
  auto with_log = manifest(1, {mine});
  with_log["log"] = absent;
  CHECK(job.record(with_log).code() == "chunks_missing");
  CHECK(job.kept().empty());
  CHECK(job.attempts()[0]["checkpoints"] == 0);
  // What was asked for is what is missing.
  const auto missing =
      job.call("POST", "/blob/missing?for=checkpoint", json{{"chunks", {mine, absent, others}}});
  CHECK(missing.json()["missing"].size() == 2);
  CHECK(job.recorded(manifest(1, {mine})) == 1);
}

TEST_CASE("chunks are for checkpoints or for results, and say so") {
  CheckpointedJob job;
  const auto name = ChunkName::of("one").hex();
  CHECK(job.call("PUT", "/blob/" + name + "?for=results", std::string{"one"}).code() == "invalid_field");
  CHECK(job.http
            .call("PUT", "/blob/" + name + "?for=checkpoint", "one",
                  {"Authorization: Bearer " + job.owner.token})
            .code() == "invalid_field");
  job.upload("one");
  CHECK(job.call("POST", job.path("/output"), json{{"path", "r"}, {"size", 3}, {"chunks", {name}}}).code() ==
        "chunks_missing");
}

TEST_CASE("a job whose owner wants no checkpoints gets none") {
  CheckpointedJob job{{{"checkpoint", false}}};
  CHECK(job.shown()["checkpoint"] == false);
  CHECK(job.put_chunk("one").code() == "forbidden");
  CHECK(job.record(manifest(1, {ChunkName::of("one").hex()})).code() == "forbidden");
  CHECK(job.call("POST", job.path("/checkpoint/note"), json{{"interval_ms", 1}}).code() == "forbidden");
  CHECK(job.number("SELECT count(*) FROM storage WHERE attempt_number IS NULL AND job_id IS NOT NULL") == 0);
  CHECK(CheckpointedJob{}.shown()["checkpoint"] == true);
}

TEST_CASE("the newest three checkpoints are kept, and chunks that none of them has are given back") {
  CheckpointedJob job;
  const auto common = job.upload("common");
  for (int number = 1; number <= 5; ++number) {
    CHECK(job.recorded(manifest(number, {common, job.upload(std::to_string(number))})) == number);
    CHECK(job.kept().size() == static_cast<std::size_t>(std::min(number, limits::kCheckpointsKept)));
  }
  CHECK(sequences_of(job.kept()) == std::vector{5, 4, 3});
  CHECK(stored(job) == 4 * kChunk);
  CHECK(job.number("SELECT checkpoint_bytes FROM storage WHERE account_id = '" + job.owner.id + "'") ==
        4 * kChunk);
  // An upload that no checkpoint has got goes with the next one.
  job.upload("given up");
  CHECK(stored(job) == 5 * kChunk);
  CHECK(job.recorded(manifest(6, {common})) == 6);
  CHECK(stored(job) == 3 * kChunk);
  const auto missing =
      job.call("POST", "/blob/missing?for=checkpoint", json{{"chunks", {common, ChunkName::of("3").hex()}}});
  CHECK(missing.json()["missing"] == json{ChunkName::of("3").hex()});
}

TEST_CASE(
    "checkpoints do not count against what machines bring for the job, nor against its owner's own files") {
  CheckpointedJob job;
  CHECK(job.recorded(manifest(1, {job.upload(chunk_bytes(1))})) == 1);
  const auto used = job.http.get("/user/", job.owner.token).json();
  CHECK(job.number("SELECT used_bytes FROM storage WHERE account_id = '" + job.owner.id + "'") ==
        kChunk);  // code
  CHECK(job.number("SELECT sum(used_bytes + kept_bytes) FROM storage WHERE attempt_number IS NOT NULL") == 0);
  CHECK(stored(job) == kChunk);
}

TEST_CASE(
    "a checkpoint that exceeds the job's share is given up when it is the only one, at the limit it is not") {
  CheckpointedJob job;
  allow(job, 2);
  std::vector<std::string> chunks{job.upload(chunk_bytes(1)), job.upload(chunk_bytes(2))};
  const auto full = job.put_chunk(chunk_bytes(3));
  CHECK(full.code() == "quota_exceeded");
  CHECK(full.json()["detail"].get<std::string>().contains("checkpoints of one job"));
  // What was sent of it is forgotten, so that a smaller one has room.
  CHECK(stored(job) == 0);
  CHECK(job.record(manifest(1, chunks)).code() == "chunks_missing");
  chunks = {job.upload(chunk_bytes(4)), job.upload(chunk_bytes(5))};
  CHECK(job.recorded(manifest(1, chunks)) == 1);
  // The one that is left stays.
  CHECK(job.put_chunk(chunk_bytes(6)).code() == "quota_exceeded");
  CHECK(sequences_of(job.kept()) == std::vector{1});
  CHECK(stored(job) == 2 * kChunk);
}

TEST_CASE("older checkpoints make room for a new one, the oldest first, and their common chunks stay") {
  CheckpointedJob job;
  allow(job, 4);
  const auto common = job.upload(chunk_bytes(0));
  for (int number = 1; number <= 3; ++number)
    CHECK(job.recorded(manifest(number, {common, job.upload(chunk_bytes(number))})) == number);
  CHECK(stored(job) == 4 * kChunk);
  const auto fourth = job.upload(chunk_bytes(4));
  CHECK(sequences_of(job.kept()) == std::vector{3, 2});
  CHECK(stored(job) == 4 * kChunk);
  CHECK(job.recorded(manifest(4, {common, fourth})) == 4);
  CHECK(sequences_of(job.kept()) == std::vector{4, 3, 2});
}

TEST_CASE("the checkpoints of all jobs of an account have its quota once more") {
  CheckpointedJob job;
  const auto first = job.job;
  job.execute(
      std::format("UPDATE storage SET quota_bytes = {} WHERE account_id = '{}'", 4 * kChunk, job.owner.id));
  CHECK(job.recorded(manifest(1, {job.upload(chunk_bytes(1)), job.upload(chunk_bytes(2))})) == 1);
  const auto second = [&] {
    const json body{{"name", "k"}, {"exec_file", "main.R"}, {"code", "1"}, {"submit", true}, {"price", 1}};
    job.job = job.http.send("PUT", "/job/", body, job.owner.token).json()["id"];
    job.run();
  };
  second();
  CHECK(job.recorded(manifest(1, {job.upload(chunk_bytes(3)), job.upload(chunk_bytes(4))})) == 1);
  second();
  CHECK(job.put_chunk(chunk_bytes(5)).code() == "quota_exceeded");
  CHECK(job.number("SELECT checkpoint_bytes FROM storage WHERE account_id = '" + job.owner.id + "'") ==
        4 * kChunk);
  // Space comes back with the end of another job.
  REQUIRE(job.http.send("POST", "/job/" + first + "/cancel", json::object(), job.owner.token).status == 200);
  sweep(job);
  CHECK(job.put_chunk(chunk_bytes(5)).status == 204);
}

TEST_CASE("an admin cannot set a quota below what checkpoints take") {
  CheckpointedJob job;
  job.upload("one");
  CHECK_THROWS(job.execute("UPDATE storage SET quota_bytes = 4095 WHERE checkpoint_bytes > 0"));
  job.execute("UPDATE storage SET quota_bytes = 4096 WHERE checkpoint_bytes > 0");
}

TEST_CASE("when the job ends nobody sees its checkpoints any more, and a worker deletes them") {
  CheckpointedJob job;
  for (int number = 1; number <= 3; ++number)
    CHECK(job.recorded(manifest(number, {job.upload(std::to_string(number))})) == number);
  job.upload("of the next");
  job.end(AttemptOutcome::completed);
  CHECK(job.kept().empty());
  CHECK(job.shown()["checkpoint_at"].is_null());
  CHECK(job.call("GET", "/blob/" + ChunkName::of("1").hex() + "?job=" + job.job).code() == "stale_attempt");
  sweep(job);
  for (const char* table : {"checkpoint", "checkpoint_chunk", "storage_released"})
    CHECK(job.number(std::format("SELECT count(*) FROM {}", table)) == 0);
  CHECK(job.number("SELECT count(*) FROM blob_presence") == 0);
  CHECK(job.number("SELECT count(*) FROM storage WHERE job_id IS NOT NULL AND attempt_number IS NULL") == 0);
  CHECK(job.number("SELECT checkpoint_bytes FROM storage WHERE account_id = '" + job.owner.id + "'") == 0);
  // Their chunks are collected at once.
  CHECK(job.number("SELECT count(*) FROM blob WHERE check_after > now()") == 0);
}

TEST_CASE("what was left of the checkpoints of an ended job is found, and what a running job needs is not") {
  CheckpointedJob job;
  CHECK(job.recorded(manifest(1, {job.upload("one")})) == 1);
  const auto ended = job.job;
  job.end(AttemptOutcome::completed);
  job.execute("DELETE FROM storage_released");
  const json body{{"name", "k"}, {"exec_file", "main.R"}, {"code", "1"}, {"submit", true}, {"price", 1}};
  job.job = job.http.send("PUT", "/job/", body, job.owner.token).json()["id"];
  job.run();
  CHECK(job.recorded(manifest(1, {job.upload("two")})) == 1);
  pg::Connection db{job.database_url()};
  market::release_checkpoints_of_ended_jobs(db);
  sweep(job);
  CHECK(job.number("SELECT count(*) FROM checkpoint WHERE job_id = '" + ended + "'") == 0);
  // A pin that has ended does not end the presence of a chunk that a checkpoint has.
  job.execute("UPDATE blob_presence SET pinned_until = now() - interval '1 second'");
  CHECK(market::collect_presences(db, 100, 0s) == 1);
  CHECK(stored(job) == kChunk);
  CHECK(sequences_of(job.kept()) == std::vector{1});
  job.upload("never recorded");
  job.execute("UPDATE blob_presence SET pinned_until = now() - interval '1 second'");
  CHECK(market::collect_presences(db, 100, 0s) == 2);
  CHECK(stored(job) == kChunk);
}

TEST_CASE("a job that is deleted takes its checkpoints with it") {
  CheckpointedJob job;
  CHECK(job.recorded(manifest(1, {job.upload("one")})) == 1);
  job.end(AttemptOutcome::completed);
  REQUIRE(job.as_owner("DELETE", "").status == 204);
  CHECK(job.number("SELECT count(*) FROM checkpoint_chunk") == 0);
  CHECK(job.number("SELECT count(*) FROM storage WHERE job_id IS NOT NULL") == 0);
  CHECK(job.number("SELECT checkpoint_bytes FROM storage WHERE account_id = '" + job.owner.id + "'") == 0);
}

TEST_CASE("a manifest may have 15,000 chunks and no more, and nothing of it is believed") {
  CheckpointedJob job;
  const auto chunk = job.upload("one");
  auto said = manifest(1, std::vector(limits::kCheckpointChunksMax, chunk));
  CHECK(said.dump().size() < limits::kBodyBytesMax);
  said["chunks"].push_back(chunk);
  CHECK(job.record(said).code() == "invalid_field");
  CHECK(job.record(manifest(1, {})).code() == "invalid_field");
  CHECK(job.recorded(manifest(1, std::vector(limits::kCheckpointChunksMax, chunk))) == 1);
  CHECK(job.call("GET", job.path("/checkpoint/1")).json()["chunks"].size() == limits::kCheckpointChunksMax);
  // Large numbers are only numbers; CPU time is bounded by the time that passed.
  said = manifest(2, {chunk});
  for (const char* field :
       {"format", "state_bytes", "size_bytes", "sent_bytes", "interval_ms", "attempt_cpu_ms", "pause_ms"})
    said[field] = 1'000'000'000;
  said["position"]["line"] = 1'000'000'000;
  said["number"] = 1'000'000'000;
  CHECK(job.recorded(said) == 2);
  CHECK(job.number("SELECT max(attempt_cpu_ms) FROM checkpoint") < 3'700'000);
  CHECK(job.number("SELECT max(attempt_cpu_ms) FROM checkpoint") >= 3'600'000);
}

TEST_CASE("nonsense instead of a manifest, a report or a note is refused and changes nothing") {
  CheckpointedJob job{{{"partial_results_vars", {"x"}}}};
  const auto chunk = job.upload("one");
  for (const char* body : {"", "[]", "{", "null", "7", R"({"chunks": 1000000000})"}) {
    CAPTURE(body);
    CHECK(job.call("POST", job.path("/checkpoint"), std::string{body}).status >= 400);
    CHECK(job.call("POST", job.path("/resume"), std::string{body}).status >= 400);
    CHECK(job.call("POST", job.path("/checkpoint/note"), std::string{body}).status >= 400);
  }
  auto said = manifest(1, {chunk});
  said["watched"] = {{"y", 1}};
  CHECK(job.record(said).json()["field"] == "watched");
  CHECK(job.kept().empty());
}

TEST_CASE("the owner sees the newest note about checkpoints, and the next checkpoint answers it") {
  CheckpointedJob job;
  CHECK(job.shown()["checkpoint_interval_ms"].is_null());
  const auto note = [&](const json& body) {
    return job.call("POST", job.path("/checkpoint/note"), body).status;
  };
  CHECK(note({{"interval_ms", 293'000}, {"problem", "within optim()"}}) == 204);
  CHECK(job.shown()["checkpoint_problem"] == "within optim()");
  CHECK(job.shown()["checkpoint_interval_ms"] == 293'000);
  CHECK(note({{"interval_ms", 10'000}, {"problem", nullptr}}) == 204);
  CHECK(job.shown()["checkpoint_problem"].is_null());
  CHECK(note({{"interval_ms", 10'000}, {"problem", "again"}}) == 204);
  CHECK(job.recorded(manifest(1, {job.upload("one")})) == 1);
  CHECK(job.shown()["checkpoint_problem"].is_null());
  CHECK(job.shown()["checkpoint_interval_ms"] == 30'000);
  CHECK(job.shown()["checkpoint_at"].is_string());
}
