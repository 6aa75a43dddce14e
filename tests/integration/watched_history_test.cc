// Reading watched variables over REST: newest, by time, by page, again, and before it is there.
#include <doctest/doctest.h>
#include <thread>

#include "core/chunk.h"
#include "core/digest.h"
#include "core/limits.h"
#include "market/service/blobs.h"
#include "tests/support/eventually.h"
#include "tests/support/metric.h"
#include "tests/support/watched_job.h"

using namespace remotist;
using namespace std::chrono_literals;
using nlohmann::json;
using test::value_of;
using test::WatchedJob;

namespace {

bool requests_are_held(const WatchedJob& job, double count) {
  return test::eventually(
      [&] { return test::metric_at(job.stack.market().url(), "remotist_requests_held") == count; });
}

WatchedRecord large_value(std::int64_t number, std::vector<std::string> chunks, std::size_t size) {
  return {.variable = "x",
          .number = number,
          .changes = 1,
          .age_ms = 0,
          .size = static_cast<std::int64_t>(size),
          .chunks = std::move(chunks)};
}

test::HttpAnswer chunk_of(const WatchedJob& job, const std::string& chunk, const std::string& token) {
  return test::Http{job.stack.market().url()}.call(
      "GET", "/blob/" + chunk + "?job=" + job.job, {},
      {"Authorization: Bearer " + token, "Accept-Encoding: identity"});
}

}  // namespace

TEST_CASE("what was read is not sent again until it changes") {
  WatchedJob job;
  job.tell({value_of("x", 1, "one")});
  for (const std::string path : {"x", "x/history", ""}) {
    CAPTURE(path);
    const auto first = job.get(path);
    const std::string tag = first.headers.at("etag");
    const auto again = job.get(path, {"If-None-Match: \"other\", " + tag});
    CHECK(again.status == 304);
    CHECK(again.body.empty());
    CHECK(again.headers.at("etag") == tag);
    CHECK(job.get(path, {"If-None-Match: \"other\""}).body == first.body);
  }
  const std::string tag = job.get("x").headers.at("etag");
  job.tell({value_of("x", 2, "two")});
  const auto changed = job.get("x", {"If-None-Match: " + tag});
  CHECK(changed.status == 200);
  CHECK(WatchedJob::bytes_in(changed.json()) == "two");
}

TEST_CASE("the value at a time is the newest that was there then") {
  WatchedJob job;
  for (int i = 1; i <= 3; ++i) {
    job.tell({{.variable = "x", .number = i, .changes = 1, .age_ms = 0, .bytes = std::to_string(i)}});
    std::this_thread::sleep_for(5ms);  // moments have milliseconds
  }
  const auto history = job.history("x");
  for (const auto& record : history)
    CHECK(job.get("x?at=" + record["at"].get<std::string>()).json() == record);
  CHECK(job.get("x?at=2100-01-01T00:00:00Z").json()["sequence"] == 3);
  CHECK(job.get("x?at=2000-01-01T00:00:00.5Z").code() == "not_found");
  for (const char* bad : {"yesterday", "2026-01-01", "1", "2026-01-01T00:00:00%2B01:00"}) {
    CAPTURE(bad);
    CHECK(job.get(std::string{"x?at="} + bad).code() == "invalid_field");
  }
  const std::string second = history[1]["at"];
  CHECK(job.history("x", "from=" + second).size() == 2);
  CHECK(job.history("x", "to=" + second).size() == 2);
  CHECK(job.history("x", "from=" + second + "&to=" + second) == json{history[1]});
}

TEST_CASE("a history is read by pages and by ranges of sequences") {
  WatchedJob job;
  std::vector<WatchedRecord> records;
  for (int i = 1; i <= 25; ++i) records.push_back(value_of("x", i, std::to_string(i)));
  job.tell(records);
  const auto page = job.get("x/history?page=2&per_page=10").json();
  CHECK(page["page"] == 2);
  CHECK(page["per_page"] == 10);
  CHECK(page["more"] == true);
  CHECK(page["history"].size() == 10);
  CHECK(page["history"][0]["sequence"] == 11);
  CHECK(job.get("x/history?page=3&per_page=10").json()["more"] == false);
  CHECK(job.get("x/history?page=4&per_page=10").json()["history"].empty());
  const auto part = job.get("x/history?from=5&to=7").json()["history"];
  REQUIRE(part.size() == 3);
  CHECK(part[0]["sequence"] == 5);
  CHECK(job.get("x/history?from=26").json()["history"].empty());
  for (const char* bad : {"from=-1", "to=x", "from=99999999999999999999", "page=0", "per_page=201"}) {
    CAPTURE(bad);
    CHECK(job.get(std::string{"x/history?"} + bad).code() == "invalid_field");
  }
}

TEST_CASE("a variable that has no value, is not watched or is no text is not found") {
  WatchedJob job;
  CHECK(job.get("x").code() == "not_found");
  CHECK(job.get("x/history").json()["history"].empty());
  for (const char* name : {"y", "y/history", "y?after=0", "x%00", "%ff", "x%2Fhistory", "fit"}) {
    CAPTURE(name);
    CHECK(job.get(name).code() == "not_found");
  }
  CHECK(job.get("x?after=-1").code() == "invalid_field");
}

TEST_CASE("names with signs of R's are found under their encoded names") {
  const std::vector<std::string> names{"fit$loss", "s@n",   "x[[1]]", "`a b`",
                                       "`a/b`",    "naïve", "`x%2F`", "history"};
  WatchedJob job{names};
  std::vector<WatchedRecord> records;
  for (const auto& name : names) records.push_back(value_of(name, 1, name));
  job.tell(records);
  for (const char* path : {"fit%24loss", "fit$loss", "s%40n", "x%5B%5B1%5D%5D", "%60a%20b%60", "%60a%2Fb%60",
                           "na%C3%AFve", "%60x%252F%60", "history"}) {
    CAPTURE(path);
    const auto answer = job.get(path);
    REQUIRE(answer.status == 200);
    CHECK(WatchedJob::bytes_in(answer.json()) == answer.json()["variable"].get<std::string>());
    CHECK(job.get(std::string{path} + "/history").json()["history"].size() == 1);
  }
}

TEST_CASE("a client that has seen the newest record is held until the next one or the end of the job") {
  WatchedJob job;
  auto first = job.held("x?after=0");
  REQUIRE(requests_are_held(job, 1));
  job.tell({value_of("fit$loss", 1, "of another")});
  job.tell({value_of("x", 1, "one")});
  CHECK(WatchedJob::bytes_in(first.get().json()) == "one");
  CHECK(job.get("x?after=0").json()["sequence"] == 1);
  auto second = job.held("x?after=1");
  auto third = job.held("x?after=1");
  REQUIRE(requests_are_held(job, 2));
  job.tell({value_of("x", 2, "two"), value_of("x", 3, "three")});
  CHECK(second.get().json()["sequence"] == 3);
  CHECK(third.get().json()["sequence"] == 3);
  auto last = job.held("x?after=3");
  REQUIRE(requests_are_held(job, 1));
  job.agent->complete(job.attempt);
  CHECK(last.get().status == 204);
  CHECK(job.get("x?after=3").status == 204);
  CHECK(job.get("x?after=2").json()["sequence"] == 3);
  CHECK(requests_are_held(job, 0));
}

TEST_CASE("a held request is answered by a new record, not by superseded ones") {
  WatchedJob job;
  job.tell({value_of("x", 1, "one"), value_of("x", 2, "two")});
  job.lose();
  auto waiting = job.held("x?after=1");
  REQUIRE(requests_are_held(job, 1));
  job.tell({value_of("x", 1, "again")});
  const auto answer = waiting.get().json();
  CHECK(answer["sequence"] == 3);
  CHECK(WatchedJob::bytes_in(answer) == "again");
}

TEST_CASE("a change recorded by another market answers requests held by this one") {
  WatchedJob job;
  const test::OwnMarket other{job.stack.market(), {}};
  test::Http http{other.url()};
  auto waiting = std::async(std::launch::async, [&] {
    return http.get(WatchedJob::path(job.job, "x?after=0"), job.stack.client().token);
  });
  REQUIRE(test::eventually([&] { return test::metric_at(other.url(), "remotist_requests_held") == 1; }));
  job.tell({value_of("x", 1, "one")});
  CHECK(WatchedJob::bytes_in(waiting.get().json()) == "one");
}

TEST_CASE("a request is held for so long, and an account has so many of them") {
  WatchedJob job{{"x"}, {{"HELD_SECONDS_MAX", "1"}}};
  job.tell({value_of("x", 1, "one")});
  CHECK(job.get("x?after=1").status == 304);
  CHECK(requests_are_held(job, 0));

  WatchedJob patient;
  patient.tell({value_of("x", 1, "one")});
  std::vector<std::future<test::HttpAnswer>> waiting;
  for (std::size_t i = 0; i < limits::kHeldRequestsPerAccountMax; ++i)
    waiting.push_back(patient.held("x?after=1"));
  REQUIRE(requests_are_held(patient, limits::kHeldRequestsPerAccountMax));
  waiting.push_back(patient.held("x?after=1"));
  // With one more the oldest ends, whichever of them that is.
  REQUIRE(test::eventually([&] {
    return std::ranges::count_if(
               waiting, [](auto& each) { return each.wait_for(0s) == std::future_status::ready; }) == 1;
  }));
  patient.tell({value_of("x", 2, "two")});
  int told = 0;
  for (auto& each : waiting) told += each.get().status == 200;
  CHECK(told == limits::kHeldRequestsPerAccountMax);
}

TEST_CASE("a machine records over REST what it may over its socket, and nothing else") {
  WatchedJob job;
  test::Http http{job.stack.market().url()};
  const auto post = [&](const json& change, const std::string& variable = "x") {
    json body{{"number", 1}, {"changes", 1}, {"age_ms", 0}, {"kind", "value"}, {"base64", "b25l"}};
    body.update(change);
    return http.call("POST", WatchedJob::path(job.job, variable), body.dump(), job.machine_headers());
  };
  CHECK(post({{"number", 0}}).json()["field"] == "number");
  CHECK(post({{"base64", "b25"}}).json()["field"] == "base64");
  CHECK(post({{"variable", "x"}}).code() == "invalid_field");
  CHECK(post(json::object(), "y").json()["field"] == "variable");
  CHECK(job.history("x").empty());
  auto waiting = job.held("x?after=0");
  REQUIRE(requests_are_held(job, 1));
  CHECK(post(json::object()).status == 204);
  CHECK(WatchedJob::bytes_in(waiting.get().json()) == "one");
  CHECK(post({{"base64", "dHdv"}}).status == 204);  // told before
  CHECK(job.history("x").size() == 1);
  job.agent->complete(job.attempt);
  job.agent->await_acknowledged();
  CHECK(post({{"number", 2}}).code() == "stale_attempt");
}

TEST_CASE("a large value is read by its chunks, by its owner alone, and the attempt has room for the next") {
  WatchedJob job;
  const auto bytes = [](int which) {
    return std::string(limits::kChunkBytesMax, static_cast<char>('a' + which));
  };
  const auto used = [&] {
    return job.stack.number("SELECT used_bytes FROM storage WHERE job_id IS NOT NULL");
  };
  const auto shared = job.upload("shared");
  std::vector<std::string> chunks;
  for (int i = 0; i < 4; ++i) {
    chunks.push_back(job.upload(bytes(i)));
    job.tell({large_value(i + 1, {chunks.back(), shared}, limits::kChunkBytesMax + 6)});
    // What a value has is charged as that, no longer as an upload of the attempt.
    CHECK(used() == 0);
  }
  CHECK(job.get("x").json()["chunks"] == json{chunks[3], shared});
  CHECK(job.get("x").json()["size"] == limits::kChunkBytesMax + 6);
  CHECK(chunk_of(job, chunks[0], job.stack.client().token).body == bytes(0));
  CHECK(chunk_of(job, chunks[0], job.stack.newcomer().token).code() == "not_found");
  test::Http http{job.stack.market().url()};
  CHECK(http.call("GET", "/blob/" + chunks[0] + "?job=" + job.job, {}, job.machine_headers()).code() ==
        "not_found");

  // Chunks stay while the history refers to them, and go with it.
  pg::Connection db{job.stack.market().database_url()};
  const auto collect = [&] {
    job.stack.execute("UPDATE blob_presence SET pinned_until = now() - interval '1 second'");
    job.stack.execute("UPDATE blob SET check_after = now() - interval '1 second'");
    while (market::collect_presences(db, 500, 1s) == 500) {
    }
    return market::collect_unneeded(db, 500, 1s).files.size();
  };
  job.agent->complete(job.attempt);
  job.agent->await_acknowledged();
  CHECK(collect() == 0);
  CHECK(chunk_of(job, chunks[1], job.stack.client().token).body == bytes(1));
  CHECK(http.call("DELETE", "/job/" + job.job, {}, {"Authorization: Bearer " + job.stack.client().token})
            .status == 204);
  CHECK(collect() == 5);
}

TEST_CASE("chunks of values that are thinned out go") {
  WatchedJob job;
  const auto first = job.upload(random_bytes(100'000));
  const auto second = job.upload(random_bytes(100'000));
  job.tell({large_value(1, {first}, 100'000), large_value(2, {second}, 100'000)});
  job.stack.execute("UPDATE storage SET quota_bytes = quota_bytes * 10");
  job.stack.execute("UPDATE watched_variable SET bytes = bytes + " +
                    std::to_string(limits::kHistoryBytesMax));
  job.tell({value_of("x", 3, "small")});
  CHECK(job.history("x").size() == 1);
  CHECK(job.stack.number("SELECT count(*) FROM watched_record_chunk") == 0);
  CHECK(job.stack.number("SELECT count(*) FROM blob WHERE check_after <= now()") == 2);
}
