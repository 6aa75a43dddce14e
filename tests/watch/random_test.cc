#include <cstdlib>
#include <doctest/doctest.h>
#include <random>
#include <string>

#include "tests/watch/program.h"
#include "tests/watch/run_pair.h"

namespace remotist::volunteer::watched {

TEST_CASE("random programs behave the same watched as plain, and the last record is the value at the end") {
  const char* const given = std::getenv("REMOTIST_TEST_SEED");
  const auto first = given != nullptr ? std::stoull(given) : std::random_device{}() % 1'000'000'000ULL;
  const char* const count = std::getenv("REMOTIST_TEST_PROGRAMS");
  const auto programs = count != nullptr ? std::stoull(count) : 12ULL;
  MESSAGE("REMOTIST_TEST_SEED=" << first << " (REMOTIST_TEST_PROGRAMS=" << programs << ")");
  for (auto seed = first; seed < first + programs; ++seed) {
    const auto script = random_program(seed);
    INFO("REMOTIST_TEST_SEED=" << seed << " REMOTIST_TEST_PROGRAMS=1\n" << script);
    const auto pair = run_plain_and_watched(
        script, {"a", "b", "d", "l", "v", "e", "k0", "f0", "l$m$n", "v[[2]]", "e$z", "i"});
    for (const auto& difference : pair.differences) FAIL_CHECK(difference);
    if (pair.plain.verdict.ending != Ending::completed) continue;
    CHECK(r_output(pair.watched, seed % 3,
                   "cat(identical(v[[length(v)]], readRDS('../out/result.rds')[[c('a', 'b', 'd')[" +
                       std::to_string(seed % 3 + 1) + "]]]))") == "TRUE");
  }
}

}  // namespace remotist::volunteer::watched
