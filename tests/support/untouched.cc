#include "tests/support/untouched.h"

#include <doctest/doctest.h>
#include <pqxx/pqxx>

#include "tests/support/environment.h"
#include "tests/support/http.h"

namespace remotist::test {

std::string fingerprint(const std::string& database_url) {
  pqxx::connection connection{database_url};
  pqxx::read_transaction tx{connection};
  std::string lines;
  for (const auto& [table] : tx.query<std::string>("SELECT quote_ident(relname) FROM pg_class WHERE "
                                                   "relnamespace = 'public'::regnamespace AND relkind "
                                                   "IN ('r', 'p') AND relname <> 'outbox' ORDER BY 1")) {
    const auto [rows, digest] = tx.query1<long long, std::string>(
        "SELECT count(*), md5(coalesce(string_agg(row, '' ORDER BY row), '')) FROM (SELECT "
        "md5(to_jsonb(t)::text) "
        "AS row FROM " +
        table + " t) rows");
    lines += table + " " + std::to_string(rows) + " " + digest + "\n";
  }
  return lines;
}

std::vector<pid_t> living_markets() {
  std::vector<pid_t> pids;
  for (const auto& url : market_urls()) {
    CAPTURE(url);
    CHECK(Http{url}.get("/healthz").status == 200);
    pids.push_back(pid_of(pids.empty() ? "market" : "market" + std::to_string(pids.size() + 1)));
  }
  return pids;
}

Untouched::Untouched() : before_(fingerprint(env("REMOTIST_DATABASE_URL"))), markets_(living_markets()) {}

Untouched::~Untouched() {
  try {
    CHECK(living_markets() == markets_);
    CHECK(fingerprint(env("REMOTIST_DATABASE_URL")) == before_);
  } catch (const std::exception& fault) {
    FAIL_CHECK(fault.what());
  }
}

}  // namespace remotist::test
