#include "tests/support/watched_job.h"

#include <doctest/doctest.h>

#include "core/chunk.h"
#include "core/digest.h"

namespace remotist::test {

WatchedRecord value_of(std::string variable, std::int64_t number, std::string bytes) {
  return {.variable = std::move(variable),
          .number = number,
          .changes = 1,
          .age_ms = 0,
          .bytes = std::move(bytes)};
}

WatchedJob::WatchedJob(std::vector<std::string> variables,
                       const std::map<std::string, std::string>& market_settings)
    : stack(market_settings),
      machine(stack.lend({})),
      agent(std::make_unique<Agent>(stack.socket_url(), machine.token)),
      attempt{{JobId::make(), 1}, {}} {
  agent->send_hello();
  job = stack.submit({.watched = std::move(variables)});
  attempt = agent->take_job().attempt;
}

void WatchedJob::reconnect() {
  agent = std::make_unique<Agent>(stack.socket_url(), machine.token);
  const auto welcome = agent->send_hello({attempt});
  REQUIRE(welcome.keep == std::vector{attempt.name});
}

void WatchedJob::lose() {
  machine = stack.lend({});
  auto other = std::make_unique<Agent>(stack.socket_url(), machine.token);
  other->send_hello();
  std::optional<protocol::Assign> given;
  REQUIRE(other->beats_until({}, [&] {
    return (given = other->hear_if<protocol::Assign>(std::chrono::milliseconds{10})).has_value();
  }));
  agent = std::move(other);
  attempt = given->jobs.front().attempt;
  agent->say(protocol::Accept{{attempt}});
  agent->await_acknowledged();
}

HttpAnswer WatchedJob::get(const std::string& rest, const std::vector<std::string>& headers) const {
  auto all = headers;
  all.push_back("Authorization: Bearer " + stack.client().token);
  return Http{stack.market().url()}.call("GET", path(job, rest), {}, all);
}

std::future<HttpAnswer> WatchedJob::held(const std::string& rest) const {
  return std::async(std::launch::async, [this, rest] { return get(rest); });
}

nlohmann::json WatchedJob::history(const std::string& variable, const std::string& query) const {
  nlohmann::json all = nlohmann::json::array();
  std::string next;
  for (int page = 1;; ++page) {
    // After a page that ended early the rest is asked for by its first sequence.
    const auto answer = get(variable + "/history?per_page=200&page=" + std::to_string(page) +
                            (next.empty() ? "" : "&from=" + next) + (query.empty() ? "" : "&" + query));
    REQUIRE_MESSAGE(answer.status == 200, answer.body);
    const auto document = answer.json();
    for (const auto& record : document["history"]) all.push_back(record);
    if (!document["more"].get<bool>()) return all;
    if (document["next"].is_null()) continue;
    next = std::to_string(document["next"].get<std::int64_t>());
    page = 0;
  }
}

std::string WatchedJob::bytes_in(const nlohmann::json& record) {
  return bytes_of_base64(record.at("base64").get<std::string>()).value();
}

std::vector<std::string> WatchedJob::machine_headers() const {
  return {"Authorization: Bearer " + machine.token,
          "Remotist-Attempt: " + job + " " + std::to_string(attempt.name.number) + " " + attempt.token};
}

std::string WatchedJob::upload(std::string_view bytes) const {
  const auto name = ChunkName::of(bytes).hex();
  const auto answer =
      Http{stack.market().url()}.call("PUT", "/blob/" + name, std::string{bytes}, machine_headers());
  REQUIRE_MESSAGE(answer.status == 204, answer.body);
  return name;
}

}  // namespace remotist::test
