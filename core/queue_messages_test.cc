#include "core/queue_messages.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <fstream>
#include <iterator>
#include <set>

#include "core/json.h"
#include "core/queue_names.h"

namespace remotist::queue {
namespace {

using nlohmann::json;

constexpr std::string_view kSession = "01941f29-7c00-7aaa-8bbb-0123456789ab";
constexpr std::string_view kOtherSession = "01941f29-7c00-7aaa-8bbb-0123456789ac";
constexpr std::string_view kJob = "01941f29-7c00-7aaa-8bbb-0123456789ad";
constexpr std::string_view kOtherJob = "01941f29-7c00-7aaa-8bbb-0123456789ae";

template <class Id>
Id id(std::string_view text) {
  return Id::parse(text).value();
}

std::vector<SessionAttempt> attempts() {
  return {{id<MachineSessionId>(kSession), {id<JobId>(kJob), 3}},
          {id<MachineSessionId>(kOtherSession), {id<JobId>(kOtherJob), 4}}};
}

json attempts_on_the_wire() {
  return {{{"machine_session", kSession}, {"job", kJob}, {"attempt", 3}},
          {{"machine_session", kOtherSession}, {"job", kOtherJob}, {"attempt", 4}}};
}

template <class Message>
struct Example {
  Message message;
  json wire;
};

std::vector<Example<Ready>> ready_examples() {
  const std::vector jobs{id<JobId>(kJob), id<JobId>(kOtherJob)};
  const std::vector sessions{id<MachineSessionId>(kSession)};
  return {{Ready{jobs, {}}, {{"jobs", {kJob, kOtherJob}}}},
          {Ready{{}, sessions}, {{"machine_sessions", {kSession}}}},
          {Ready{jobs, sessions}, {{"jobs", {kJob, kOtherJob}}, {"machine_sessions", {kSession}}}}};
}

std::vector<Example<ForMarket>> market_examples() {
  return {{Assign{attempts()}, {{"type", "assign"}, {"attempts", attempts_on_the_wire()}}},
          {Stop{attempts(), "cancelled"},
           {{"type", "stop"}, {"reason", "cancelled"}, {"attempts", attempts_on_the_wire()}}},
          {HandOver{attempts(), "its owner moves it"},
           {{"type", "hand_over"}, {"reason", "its owner moves it"}, {"attempts", attempts_on_the_wire()}}},
          {Close{{id<MachineSessionId>(kSession), id<MachineSessionId>(kOtherSession)}, "banned: spam"},
           {{"type", "close"}, {"reason", "banned: spam"}, {"machine_sessions", {kSession, kOtherSession}}}}};
}

// Whether both readers refuse it.
bool is_refused(const json& message) {
  return !read_ready(message.dump()) && !read_for_market(message.dump());
}

std::string queues_document() {
  std::ifstream in{REMOTIST_SOURCE_DIR "/docs/queues.md"};
  return {std::istreambuf_iterator<char>{in}, {}};
}

}  // namespace

TEST_CASE_TEMPLATE("each message of the queues is written as documented and read back equal", Message, Ready,
                   ForMarket) {
  const auto check = [](const auto& examples, auto read) {
    for (const auto& [message, wire] : examples) {
      CAPTURE(wire);
      CHECK(json::parse(text_of(message)) == wire);
      const auto again = read(wire.dump());
      REQUIRE(again.ok());
      CHECK(text_of(*again) == text_of(message));
    }
  };
  if constexpr (std::is_same_v<Message, Ready>) {
    check(ready_examples(), read_ready);
  } else {
    check(market_examples(), read_for_market);
    std::set<std::size_t> types;
    for (const auto& example : market_examples()) types.insert(example.message.index());
    CHECK(types.size() == std::variant_size_v<ForMarket>);
  }
}

TEST_CASE("a message of a queue with an unknown, missing or wrong field is refused") {
  std::vector<json> messages;
  for (const auto& example : ready_examples()) messages.push_back(example.wire);
  for (const auto& example : market_examples()) messages.push_back(example.wire);
  for (const auto& message : messages) {
    std::set<std::string> places{""};
    const json flat = message.flatten();
    for (const auto& [pointer, value] : flat.items()) {
      for (json::json_pointer at{pointer}; !at.empty(); at.pop_back()) places.insert(at.to_string());
    }
    for (const auto& place : places) {
      const json::json_pointer at{place};
      json changed = message;
      changed[at] = 1.5;
      CAPTURE(changed);
      CHECK(is_refused(changed));
      if (message[at].is_object()) {
        changed = message;
        changed[at]["extra"] = 1;
        CHECK(is_refused(changed));
      }
      // A Ready may lack one of its two lists.
      if (place.empty() || !message[at.parent_pointer()].is_object() || !message.contains("type")) continue;
      changed = message;
      changed[at.parent_pointer()].erase(at.back());
      CHECK(is_refused(changed));
    }
  }
}

TEST_CASE("a message of a queue names something, by ids and numbers") {
  CHECK(read_ready("{}").refusal().field == "jobs");
  CHECK(read_ready(R"({"jobs": [], "machine_sessions": []})").refusal().field == "jobs");
  CHECK(read_ready(R"({"jobs": ["x"]})").refusal().field == "jobs");
  CHECK(read_ready("").refusal().code == Code::malformed_request);
  const auto refused_with = [](std::size_t which, const char* pointer, const json& value) {
    json message = market_examples()[which].wire;
    message[json::json_pointer{pointer}] = value;
    const auto read = read_for_market(message.dump());
    return read ? std::string{} : read.refusal().field;
  };
  for (std::size_t which = 0; which < market_examples().size(); ++which) {
    CHECK(refused_with(which, "/type", "salute") == "type");
    CHECK(refused_with(which, "/type", "") == "type");
  }
  for (const std::size_t which : {0, 1, 2}) {
    for (const int number : {0, -1}) CHECK(refused_with(which, "/attempts/1/attempt", number) == "attempt");
    CHECK(refused_with(which, "/attempts/0/attempt", 1LL << 31) == "attempt");
    CHECK(refused_with(which, "/attempts/0/attempt", INT32_MAX).empty());
    CHECK(refused_with(which, "/attempts/0/job", "") == "job");
    CHECK(refused_with(which, "/attempts/1/machine_session", "x") == "machine_session");
    CHECK(refused_with(which, "/attempts", json::array()) == "attempts");
  }
  CHECK(refused_with(3, "/machine_sessions", json::array()) == "machine_sessions");
}

TEST_CASE("a message of a queue may have the size that RabbitMQ and the outbox take, and no more") {
  const auto padded = [](std::size_t bytes) {
    std::string text = text_of(ready_examples()[0].message);
    text.insert(1, bytes - text.size(), ' ');
    return text;
  };
  CHECK(read_ready(padded(amqp::kBodyBytesMax)).ok());
  CHECK(read_ready(padded(amqp::kBodyBytesMax + 1)).refusal().code == Code::too_large);
}

TEST_CASE("every message that docs/queues.md shows can be read, and it shows every type") {
  std::string document = queues_document();
  for (std::size_t at = 0; (at = document.find("0194…", at)) != std::string::npos;)
    document.replace(at, std::string_view{"0194…"}.size(), kJob);
  std::set<std::size_t> types;
  int ready = 0;
  for (std::size_t at = 0; (at = document.find("\n{\"", at)) != std::string::npos;) {
    ++at;
    const std::size_t end = std::min(document.find("\n```", at), document.find("\n{\"", at));
    const std::string text = document.substr(at, end - at);
    CAPTURE(text);
    if (!text.contains("\"type\"")) {
      CHECK(read_ready(text).ok());
      ++ready;
      continue;
    }
    const auto message = read_for_market(text);
    REQUIRE(message.ok());
    types.insert(message->index());
  }
  CHECK(ready > 0);
  CHECK(types.size() == std::variant_size_v<ForMarket>);
}

}  // namespace remotist::queue
