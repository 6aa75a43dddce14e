// How much work a message may cause.
#include <doctest/doctest.h>
#include <string>

#include "core/json_body.h"
#include "core/limits.h"
#include "core/protocol.h"
#include "tests/support/allocation_count.h"

namespace remotist::protocol {
namespace {

using nlohmann::json;

// Allocations of reading a parsed message with a list of so many empty objects, in which every field is
// missing.
std::size_t work(json message, const char* list, std::size_t objects) {
  message[list] = json::array();
  for (std::size_t i = 0; i < objects; ++i) message[list].push_back(json::object());
  return allocations_of([&] { CHECK_FALSE(read_from_agent(JsonBody::of(message)).ok()); });
}

}  // namespace

TEST_CASE("the objects of a list are read up to the first mistake") {
  const json key{{"seq", 1}, {"job", "01941f29-7c00-7aaa-8bbb-0123456789ab"}, {"attempt", 1}, {"token", "t"}};
  const auto check = [&](const char* type, const char* list, std::size_t most) {
    CAPTURE(type);
    auto message = key;
    message["type"] = type;
    // The list itself grows; nothing is read of its other objects.
    CHECK(work(message, list, most) < work(message, list, 1) + most / 4);
  };
  check("accept", "attempts", limits::kFrameAttemptsMax);
  check("beat", "attempts", limits::kFrameAttemptsMax);
  check("watched_records", "records", limits::kRecordsInMessageMax);
  check("outcome", "files", limits::kOutcomeFilesMax);
}

}  // namespace remotist::protocol
