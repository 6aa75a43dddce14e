#include "volunteer/connection/socket.h"

#include <doctest/doctest.h>

namespace remotist::volunteer {

TEST_CASE("a server reads the frames that a client writes, of every length") {
  for (const std::size_t size : {0, 1, 7, 8, 9, 125, 126, 127, 65'535, 65'536, 100'001}) {
    CAPTURE(size);
    std::string payload;
    for (std::size_t i = 0; i < size; ++i) payload.push_back(static_cast<char>(i * 7));
    std::string bytes;
    append_frame(bytes, websocket::Opcode::text, payload, 0x12345678);
    append_frame(bytes, websocket::Opcode::ping, "again", 0x9abcdef0);
    websocket::FrameReader reader{200'000};
    std::vector<websocket::Message> messages;
    REQUIRE(reader.read(bytes, messages));
    REQUIRE(messages.size() == 2);
    CHECK(messages[0].opcode == websocket::Opcode::text);
    CHECK(messages[0].payload == payload);
    CHECK(messages[1].payload == "again");
  }
}

TEST_CASE("a market that is not there is told, not waited for") {
  const std::atomic<bool> stopping = false;
  const auto dialled = Socket::dial("ws://127.0.0.1:1/volunteer/socket", "token", "", stopping);
  CHECK(dialled.socket == nullptr);
  CHECK(dialled.status == 0);
  CHECK_FALSE(dialled.why.empty());
}

}  // namespace remotist::volunteer
