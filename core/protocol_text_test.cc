#include <doctest/doctest.h>
#include <string>

#include "core/protocol.h"

namespace remotist::protocol {

TEST_CASE("what must be escaped in an accept or an outcome is, and files come back as they were") {
  const AttemptKey key{{*JobId::parse("01940000-0000-7000-8000-000000000001"), 1}, "a\"b\\\n"};
  const auto accept = read_from_agent(text_of(Frame<FromAgent>{1, 0, Accept{{key, key}}}));
  REQUIRE(accept.ok());
  REQUIRE(std::get<Accept>(accept->body).attempts.size() == 2);
  CHECK(std::get<Accept>(accept->body).attempts[1].token == key.token);
  for (const std::size_t bytes : {0, 1, 2, 3, 4, 1000}) {
    std::string all;
    for (std::size_t i = 0; i < bytes; ++i) all.push_back(static_cast<char>(i));
    const auto outcome = read_from_agent(
        text_of(Frame<FromAgent>{2, 1,
                                 Outcome{.attempt = key,
                                         .kind = AttemptOutcome::failed,
                                         .cpu_ms = 12,
                                         .failure_code = FailureCode::r_error,
                                         .failure_detail = "\"quoted\"\n",
                                         .files = {{"files", "a \"b\"", all}, {"log", "a/b.txt", "x"}}}}));
    REQUIRE(outcome.ok());
    const auto& read = std::get<Outcome>(outcome->body);
    CHECK(read.attempt.token == key.token);
    CHECK(read.failure_detail == "\"quoted\"\n");
    REQUIRE(read.files.size() == 2);
    CHECK(read.files[0].path == "a \"b\"");
    CHECK(read.files[0].bytes == all);
    CHECK(read.files[1].bytes == "x");
  }
}

}  // namespace remotist::protocol
