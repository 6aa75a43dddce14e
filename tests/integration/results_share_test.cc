// Who is charged for what machines upload, and until when.
#include <doctest/doctest.h>

#include "core/chunk.h"
#include "core/json.h"
#include "tests/support/agent.h"
#include "tests/support/dispatch.h"
#include "tests/support/eventually.h"
#include "tests/support/http.h"

using namespace remotist;
using test::Agent;
using test::DispatchStack;
using test::eventually;

namespace {

// A machine that has a job, and uploads for it.
struct Uploading {
  DispatchStack stack;
  DispatchStack::Machine machine = stack.lend({});
  Agent agent{stack.socket_url(), machine.token};
  std::string job;
  std::optional<protocol::Assignment> assignment;
  test::Http http{stack.market().url()};

  Uploading() {
    agent.greet();
    job = stack.submit({});
    assignment = agent.take_job();
  }
  std::vector<std::string> headers() const {
    const auto& [name, token] = assignment->attempt;
    return {"Authorization: Bearer " + machine.token,
            "Remotist-Attempt: " + name.job.text() + " " + std::to_string(name.number) + " " + token};
  }
  int put(const std::string& bytes) {
    return http.call("PUT", "/blob/" + ChunkName::of(bytes).hex(), bytes, headers()).status;
  }
  int name(const std::string& path, const std::string& bytes) {
    const nlohmann::json file{
        {"path", path}, {"size", bytes.size()}, {"chunks", {ChunkName::of(bytes).hex()}}};
    return http.call("POST", "/job/" + job + "/output", file.dump(), headers()).status;
  }
  std::int64_t used() const {
    return stack.number("SELECT used_bytes FROM storage WHERE account_id = '" + stack.client().id + "'");
  }
};

}  // namespace

TEST_CASE(
    "what a machine uploads is its client's from the first byte, and nobody's when it gives the job back") {
  Uploading one;
  const auto before = one.used();
  const std::string named(500'000, 'a');
  const std::string left(300'000, 'b');
  REQUIRE(one.put(named) == 204);
  CHECK(one.used() == before + 500'000);
  REQUIRE(one.name("r", named) == 204);
  CHECK(one.used() == before + 500'000);
  REQUIRE(one.put(left) == 204);
  CHECK(one.used() == before + 800'000);
  one.agent.say(
      protocol::Outcome{.attempt = one.assignment->attempt, .kind = protocol::OutcomeKind::handed_back});
  one.agent.await_acknowledged();
  CHECK(eventually([&] { return one.used() == before; }));
  CHECK(one.stack.number("SELECT count(*) FROM blob WHERE check_after > now()") == 0);
  one.stack.check();
}

TEST_CASE("of a completed job its files are charged, and what it uploaded besides is given back") {
  Uploading one;
  const auto before = one.used();
  const std::string named(500'000, 'a');
  REQUIRE(one.put(named) == 204);
  REQUIRE(one.put(std::string(300'000, 'b')) == 204);
  REQUIRE(one.name("r", named) == 204);
  one.agent.complete(one.assignment->attempt);
  one.agent.await_acknowledged();
  CHECK(eventually([&] { return one.used() == before + 500'000; }));
  REQUIRE(
      one.http.call("DELETE", "/job/" + one.job, {}, {"Authorization: Bearer " + one.stack.client().token})
          .status == 204);
  CHECK(one.used() < before);  // its code is gone too
  CHECK(one.stack.number("SELECT count(*) FROM blob WHERE check_after > now()") == 0);
}
