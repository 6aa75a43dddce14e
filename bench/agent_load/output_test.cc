#include "bench/agent_load/output.h"

#include <doctest/doctest.h>

#include "core/digest.h"

namespace remotist::bench {
namespace {

const protocol::AttemptName kUploadedAttempt{*JobId::parse("01940000-0000-7000-8000-000000000001"), 3};

}  // namespace

TEST_CASE("a result begins with its attempt's name and has the size that was asked for") {
  for (const std::size_t bytes : {0, 1, 38, 39, 40, 47, 1000}) {
    const auto result = result_of(kUploadedAttempt, bytes);
    CHECK(result.size() == bytes);
    CHECK(result == result_of(kUploadedAttempt, 1000).substr(0, bytes));
  }
  CHECK(result_of(kUploadedAttempt, 100).starts_with("01940000-0000-7000-8000-000000000001 3\n"));
}

TEST_CASE("the rule of results does not change: checkers in other languages know it") {
  CHECK(hex_of(result_of(kUploadedAttempt, 55).substr(39)) == "9b8ce7437174f9be655a80457a1fdaa1");
  CHECK(hex_of(sha256(result_of(kUploadedAttempt, 100'000))) ==
        "d22bdbb477038117132109ffda41b0f21cfed035e1bffbe41139119a2e1d3c37");
}

TEST_CASE("another attempt has another result") {
  CHECK(result_of(kUploadedAttempt, 100).substr(39) != result_of({kUploadedAttempt.job, 4}, 100).substr(39));
}

}  // namespace remotist::bench
