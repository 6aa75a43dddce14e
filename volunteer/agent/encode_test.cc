#include "volunteer/agent/encode.h"

#include "core/limits.h"
#include "volunteer/agent/agent_fixture.h"

namespace remotist::volunteer {

TEST_CASE("an outcome is not encoded when the market would refuse its files") {
  const auto encoded = [](protocol::OutcomeFile file) {
    return encode({1, 0,
                   protocol::Outcome{.attempt = {AgentFixture::name(1), "token"},
                                     .kind = AttemptOutcome::completed,
                                     .files = {std::move(file)}}})
        .ok();
  };
  CHECK(encoded({"output", "result.rds", std::string(limits::kOutcomeBytesMax, 'x')}));
  CHECK_FALSE(encoded({"output", "result.rds", std::string(limits::kOutcomeBytesMax + 1, 'x')}));
  CHECK(encoded({"files", "plot.png", "x"}));
  CHECK_FALSE(encoded({"files", "../plot.png", "x"}));
}

TEST_CASE("no kind of message is sent without being read") {
  const protocol::AttemptKey wrong{{AgentFixture::name(1).job, 0}, "token"};
  CHECK_FALSE(encode({1, 0, protocol::Accept{{wrong}}}).ok());
  CHECK_FALSE(encode({1, 0, protocol::Outcome{.attempt = wrong, .kind = AttemptOutcome::completed}}).ok());
  CHECK_FALSE(encode({1, 0,
                      protocol::Outcome{.attempt = {AgentFixture::name(1), "token"},
                                        .kind = AttemptOutcome::completed,
                                        .files = {{"output", "../result.rds", "x"}}}})
                  .ok());
}

TEST_CASE("a text that a job made is not encoded when the market would refuse it") {
  const auto encoded = [](std::string message) {
    return encode({1, 0, protocol::Progress{{AgentFixture::name(1), "token"}, 0.5, std::move(message)}}).ok();
  };
  CHECK(encoded("half"));
  CHECK_FALSE(encoded(std::string(limits::kMessageTextBytesMax + 1, 'x')));
  CHECK_FALSE(encoded(std::string(1, '\0')));
}

}  // namespace remotist::volunteer
