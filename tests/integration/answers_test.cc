// Answers are bounded: a page in its bytes, and all that clients do not read.
#include <doctest/doctest.h>
#include <map>
#include <sstream>

#include "core/chunk.h"
#include "core/digest.h"
#include "core/limits.h"
#include "tests/support/database.h"
#include "tests/support/environment.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"
#include "tests/support/metric.h"
#include "tests/support/own_market.h"
#include "tests/support/raw.h"
#include "tests/support/watched_job.h"

using namespace remotist;
using test::eventually;
using test::OwnMarket;
using test::Raw;
using test::value_of;
using test::WatchedJob;

namespace {

// How many requests for chunks the market has answered.
double chunks_asked_for(test::Http& http) {
  double asked = 0;
  std::istringstream metrics{http.get("/metrics").body};
  for (std::string line; std::getline(metrics, line);) {
    if (line.starts_with(R"(remotist_requests_total{method="GET",route="/blob/{sha256}")"))
      asked += std::stod(line.substr(line.rfind(' ')));
  }
  return asked;
}

}  // namespace

TEST_CASE("a page of a history ends at its bytes, and tells where it goes on") {
  WatchedJob job;
  constexpr int kRecords = 30;
  const std::string value(limits::kRecordInlineBytesMax, 'x');
  for (int i = 1; i <= kRecords; ++i) job.tell({value_of("x", i, value)});
  const auto all = job.history("x");
  REQUIRE(all.size() == kRecords);
  for (int i = 0; i < kRecords; ++i) CHECK(all[static_cast<std::size_t>(i)]["sequence"] == i + 1);

  const auto first = job.get("x/history?per_page=200");
  const auto page = first.json();
  CHECK(first.body.size() < limits::kPageBytesMax + 2 * value.size());
  CHECK(first.body.size() > limits::kPageBytesMax - 2 * value.size());
  CHECK(page["more"] == true);
  CHECK(page["next"] == page["history"].size() + 1);
  // A page that is full of rows has a next one, and nothing is left of it.
  const auto few = job.get("x/history?per_page=2").json();
  CHECK(few["history"].size() == 2);
  CHECK(few["more"] == true);
  CHECK(few["next"].is_null());
  const auto last = job.get("x/history?per_page=200&from=" + std::to_string(kRecords)).json();
  CHECK(last["more"] == false);
  CHECK(last["next"].is_null());
}

TEST_CASE("a page of files ends at its bytes, and tells where it goes on") {
  test::Http http{test::env("REMOTIST_URL")};
  const auto account = test::make_account(test::env("REMOTIST_DATABASE_URL"), 0);
  const std::string job =
      http.send("PUT", "/job/", {{"name", "j"}, {"exec_file", "m.R"}}, account.token).json()["id"];
  const std::string chunk = ChunkName::of("x").hex();
  REQUIRE(http.call("PUT", "/blob/" + chunk, "x", {"Authorization: Bearer " + account.token}).status == 204);
  // Names of chunks: a little less than half a page for each file.
  constexpr std::size_t kChunks = limits::kPageBytesMax / 67 / 2 - 10;
  const std::vector<std::string> paths{"a b", "c&d", "e", "f", "g"};
  for (const auto& path : paths) {
    const nlohmann::json file{
        {"path", path}, {"size", kChunks}, {"chunks", std::vector<std::string>(kChunks, chunk)}};
    REQUIRE(http.send("POST", "/job/" + job + "/data", file, account.token).status == 204);
  }
  const auto page_from = [&](const std::string& query) {
    const auto answer = http.get("/job/" + job + "/data?per_page=200" + query, account.token);
    REQUIRE(answer.status == 200);
    CHECK(answer.body.size() < limits::kPageBytesMax + 67 * kChunks + 10'000);
    return answer.json();
  };
  const auto first = page_from("");
  REQUIRE(first["files"].size() == 3);
  CHECK(first["more"] == true);
  CHECK(first["next"] == "f");
  const auto second = page_from("&from=f");
  CHECK(second["files"].size() == 2);
  CHECK(second["more"] == false);
  CHECK(second["next"].is_null());
  CHECK(page_from("&from=c%26d")["files"][0]["path"] == "c&d");
  const auto two = http.get("/job/" + job + "/data?per_page=2", account.token).json();
  CHECK(two["files"].size() == 2);
  CHECK(two["more"] == true);
  CHECK(two["next"].is_null());
  CHECK(http.get("/job/" + job + "/data?from=a//b", account.token).code() == "invalid_field");
}

TEST_CASE("text that JSON would make six times as long comes as base64") {
  test::Http http{test::env("REMOTIST_URL")};
  const auto account = test::make_account(test::env("REMOTIST_DATABASE_URL"), 0);
  const std::string job =
      http.send("PUT", "/job/", {{"name", "j"}, {"exec_file", "m.R"}}, account.token).json()["id"];
  const std::string controls(limits::kInlineCodeBytesMax, '\x01');
  for (const auto& [path, text] : std::map<std::string, std::string>{{"a", controls}, {"b", "x\t\r\n"}})
    REQUIRE(
        http.send("POST", "/job/" + job + "/data", {{"path", path}, {"text", text}}, account.token).status ==
        204);
  const auto answer = http.get("/job/" + job + "/data", account.token);
  CHECK(answer.body.size() < 2 * controls.size());
  CHECK(answer.json()["files"][0]["base64"] == base64_of(controls));
  CHECK(answer.json()["files"][1]["text"] == "x\t\r\n");
}

TEST_CASE("one address has so many bytes of unread answers, and others are served meanwhile") {
  // An eighth of it, 1 MiB, is an address's.
  const OwnMarket market{{{"UNREAD_MB_MAX", "8"}}};
  const auto account = test::make_account(market.database_url(), 0);
  test::Http http{market.url()};
  const std::string token = "Authorization: Bearer " + account.token;
  const std::string job =
      http.send("PUT", "/job/", {{"name", "j"}, {"exec_file", "m.R"}}, account.token).json()["id"];
  const std::string bytes = random_bytes(1 << 20);
  const std::string chunk = ChunkName::of(bytes).hex();
  REQUIRE(http.call("PUT", "/blob/" + chunk, bytes, {token}).status == 204);
  REQUIRE(http.send("POST", "/job/" + job + "/data",
                    {{"path", "d"}, {"size", bytes.size()}, {"chunks", {chunk}}}, account.token)
              .status == 204);
  const std::string ask = test::request_text("GET", "/blob/" + chunk + "?job=" + job,
                                             token + "\r\nAccept-Encoding: identity\r\n");
  const auto unread = [&] { return test::metric_at(market.url(), "remotist_unread_bytes"); };

  // Asks and does not read, until the kernel's buffers are full and one answer stays with the market: it is
  // still there after more was asked for.
  const auto fill = [&](Raw& connection) {
    int asked = 0;
    int rounds_held = 0;
    REQUIRE(eventually([&] {
      const double before = chunks_asked_for(http);
      for (int i = 0; i < 8; ++i) REQUIRE(connection.send(ask));
      asked += 8;
      REQUIRE(eventually([&] { return chunks_asked_for(http) == before + 8; }));
      // The answer to whoever looked last may still be counted beside it.
      const auto bytes_held = unread();
      CHECK(bytes_held < 3 << 19);
      rounds_held = bytes_held >= 1 << 20 ? rounds_held + 1 : 0;
      return rounds_held == 3;
    }));
    return asked;
  };
  Raw slow{market.url(), "127.0.0.2"};
  const int asked = fill(slow);
  Raw other{market.url(), "127.0.0.3"};
  REQUIRE(other.send(ask));
  const auto served = other.answer();
  CHECK(served.status == 200);
  CHECK(served.body == bytes);

  int whole = 0;
  int busy = 0;
  for (int i = 0; i < asked; ++i) {
    const auto answer = slow.answer();
    if (answer.status == 200 && answer.body == bytes) ++whole;
    if (answer.code() == "busy") ++busy;
  }
  CHECK(whole > 0);
  CHECK(busy > 0);
  CHECK(whole + busy == asked);
  CHECK(eventually([&] { return unread() == 0; }));
  // What is not read to the end is given back with the connection.
  {
    Raw gone{market.url(), "127.0.0.2"};
    fill(gone);
  }
  CHECK(eventually([&] { return unread() == 0; }));
}

TEST_CASE("an attempt brings as many bytes a second over REST as over its socket") {
  WatchedJob job;
  test::Http http{job.stack.market().url()};
  // Too large for a record, and counted all the same.
  const std::string body(1 << 20, ' ');
  // Ten seconds' bytes are there at once; the rest comes more slowly than it is asked for here.
  constexpr auto kAtOnce =
      limits::kAttemptRecordBytesPerSecondMax * limits::kAttemptRecordsBurstSeconds >> 20;
  std::string code = "too_large";
  int taken = -1;
  for (; code == "too_large" && taken < 100 * kAtOnce; ++taken)
    code = http.call("POST", WatchedJob::path(job.job, "x"), body, job.machine_headers()).code();
  CHECK(taken >= kAtOnce);
  CHECK(code == "rate_limited");
}
