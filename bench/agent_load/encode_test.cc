#include "bench/agent_load/encode.h"

#include <doctest/doctest.h>

#include "core/json.h"

namespace remotist::bench {
namespace {

using Frame = protocol::Frame<protocol::FromAgent>;

protocol::AttemptKey key(int number, std::string token = "remotist_attempt_A-z_09") {
  return {{*JobId::parse("01940000-0000-7000-8000-000000000001"), number}, std::move(token)};
}

void check_same(const Frame& frame) {
  const auto text = encode(frame);
  CAPTURE(text);
  CHECK(nlohmann::json::parse(text) == nlohmann::json::parse(text_of(frame)));
  CHECK(protocol::read_from_agent(text).ok());
}

}  // namespace

TEST_CASE("messages say the same as those of the protocol's own writer") {
  check_same({1, 0, protocol::Accept{{key(1)}}});
  check_same({2, 7, protocol::Accept{{key(1), key(2), key(3)}}});
  for (const std::size_t bytes : {0, 1, 2, 3, 4, 1000}) {
    std::string all;
    for (std::size_t i = 0; i < bytes; ++i) all.push_back(static_cast<char>(i));
    check_same({3, 1,
                protocol::Outcome{.attempt = key(1),
                                  .kind = AttemptOutcome::completed,
                                  .cpu_ms = 12,
                                  .files = {{"output", "result.rds", all}, {"log", "a/b.txt", "x"}}}});
  }
  check_same({4, 0, protocol::Outcome{.attempt = key(1), .kind = AttemptOutcome::handed_back}});
  check_same({5, 0,
              protocol::Outcome{.attempt = key(1),
                                .kind = AttemptOutcome::failed,
                                .failure_code = FailureCode::r_error,
                                .failure_detail = "\"quoted\"\n"}});
  check_same({6, 2, protocol::Beat{}});
}

TEST_CASE("a token or path that must be escaped is") {
  check_same({1, 0, protocol::Accept{{key(1), key(2, "a\"b\\\n")}}});
  check_same(
      {2, 0,
       protocol::Outcome{
           .attempt = key(1), .kind = AttemptOutcome::completed, .files = {{"output", "a \"b\"", "x"}}}});
}

}  // namespace remotist::bench
