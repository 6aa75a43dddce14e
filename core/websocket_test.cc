#include "core/websocket.h"

#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "core/limits.h"
#include "tests/fuzz/frames.h"

namespace remotist::websocket {
namespace {

using fuzz::hear;
using fuzz::Heard;
using namespace std::string_literals;

constexpr std::size_t kMessageMax = limits::kFrameBytesMax;
constexpr int kLast = 0x80;

// The two bytes that a client's frame begins with, its length in as many bytes as are asked for, and the key.
std::string head(int first, std::uint64_t length, int length_bytes) {
  std::string bytes{static_cast<char>(first)};
  bytes.push_back(static_cast<char>(0x80 | (length_bytes == 0   ? static_cast<int>(length)
                                            : length_bytes == 2 ? 126
                                                                : 127)));
  for (int i = length_bytes; i-- > 0;) bytes.push_back(static_cast<char>(length >> (8 * i)));
  return bytes + "\x37\xfa\x21\x3d";
}

std::string masked(int first, std::string_view payload) {
  constexpr std::string_view kKey = "\x37\xfa\x21\x3d";
  std::string bytes = head(first, payload.size(), payload.size() < 126 ? 0 : payload.size() < 65536 ? 2 : 8);
  for (std::size_t i = 0; i < payload.size(); ++i)
    bytes.push_back(static_cast<char>(payload[i] ^ kKey[i % 4]));
  return bytes;
}

std::string sent(Opcode opcode, std::string_view payload) {
  return masked(kLast | static_cast<int>(opcode), payload);
}

std::string fragment(Opcode opcode, std::string_view payload) {
  return masked(static_cast<int>(opcode), payload);
}

// Bytes in which a shifted, lost or doubled one shows.
std::string payload_of(std::size_t bytes) {
  std::string payload(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) payload[i] = static_cast<char>(i * 7 + i / 251);
  return payload;
}

Heard whole(std::string_view stream, std::size_t message_max = kMessageMax) {
  return hear(stream, message_max, [&] { return stream.size(); });
}

Heard byte_by_byte(std::string_view stream, std::size_t message_max = kMessageMax) {
  return hear(stream, message_max, [] { return 1; });
}

// That the stream is refused with this code after so many messages, however it arrives.
void check_refused(std::string_view stream, CloseCode code, std::size_t messages_before = 0,
                   std::size_t message_max = kMessageMax) {
  const Heard heard = whole(stream, message_max);
  CHECK(heard.faulted);
  CHECK(heard.fault == code);
  CHECK(heard.messages.size() == messages_before);
  CHECK(heard.deaf_after_fault);
  CHECK(byte_by_byte(stream, message_max) == heard);
}

std::uint64_t test_seed() {
  const char* given = std::getenv("REMOTIST_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
}

}  // namespace

TEST_CASE("the examples of RFC 6455 are read and written") {
  const Heard heard = whole("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
  CHECK_FALSE(heard.faulted);
  REQUIRE(heard.messages.size() == 1);
  CHECK(heard.messages[0] == std::pair{Opcode::text, "Hello"s});
  CHECK(frame_of(Opcode::text, "Hello") == "\x81\x05Hello");
  CHECK(frame_of(Opcode::ping, "Hello") == "\x89\x05Hello");
  CHECK(frame_of(Opcode::binary, std::string(256, 'x')) == "\x82\x7e\x01\x00"s + std::string(256, 'x'));
  CHECK(frame_of(Opcode::binary, std::string(65536, 'x')) ==
        "\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00"s + std::string(65536, 'x'));
}

TEST_CASE("a message of any length arrives whole, however its bytes are cut") {
  const std::uint64_t seed = test_seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{125}, std::size_t{126},
                                  std::size_t{65535}, std::size_t{65536}, kMessageMax}) {
    CAPTURE(bytes);
    const std::string payload = payload_of(bytes);
    const std::string stream = sent(Opcode::text, payload) + sent(Opcode::binary, "next");
    const Heard heard = whole(stream);
    CHECK_FALSE(heard.faulted);
    REQUIRE(heard.messages.size() == 2);
    CHECK(heard.messages[0].first == Opcode::text);
    const bool same = heard.messages[0].second == payload;  // 256 KiB are nothing to print
    CHECK(same);
    CHECK(heard.messages[1] == std::pair{Opcode::binary, "next"s});
    const bool same_byte_by_byte = byte_by_byte(stream) == heard;
    CHECK(same_byte_by_byte);
    for (int round = 0; round < 20; ++round) {
      const std::size_t longest = std::size_t{1} << random() % 17;
      const bool same_at_any_cut = hear(stream, kMessageMax, [&] { return 1 + random() % longest; }) == heard;
      CHECK(same_at_any_cut);
    }
  }
}

TEST_CASE("a message arrives as soon as its last byte does, also when it is empty") {
  for (const char* payload : {"", "x"}) {
    const std::string frame = sent(Opcode::text, payload);
    FrameReader reader{kMessageMax};
    std::vector<Message> messages;
    CHECK(reader.read(std::string_view{frame}.substr(0, frame.size() - 1), messages));
    CHECK(messages.empty());
    CHECK(reader.read(frame.substr(frame.size() - 1), messages));
    CHECK(messages.size() == 1);
    CHECK(reader.read("", messages));
    CHECK(messages.size() == 1);
  }
}

TEST_CASE("fragments are put together, and control frames between them come first") {
  const std::string stream = fragment(Opcode::text, "one ") + sent(Opcode::ping, "there?") +
                             fragment(Opcode::continuation, "") + fragment(Opcode::continuation, "two ") +
                             sent(Opcode::pong, payload_of(125)) + sent(Opcode::continuation, "three") +
                             sent(Opcode::close, "\x03\xe8");
  const Heard heard = whole(stream);
  CHECK_FALSE(heard.faulted);
  REQUIRE(heard.messages.size() == 4);
  CHECK(heard.messages[0] == std::pair{Opcode::ping, "there?"s});
  CHECK(heard.messages[1] == std::pair{Opcode::pong, payload_of(125)});
  CHECK(heard.messages[2] == std::pair{Opcode::text, "one two three"s});
  CHECK(heard.messages[3] == std::pair{Opcode::close, "\x03\xe8"s});
  CHECK(byte_by_byte(stream) == heard);
}

TEST_CASE("a message whose last fragment is empty arrives") {
  const Heard heard = byte_by_byte(fragment(Opcode::binary, "all") + sent(Opcode::continuation, ""));
  REQUIRE(heard.messages.size() == 1);
  CHECK(heard.messages[0] == std::pair{Opcode::binary, "all"s});
}

TEST_CASE("a frame that is not masked is refused before its payload") {
  check_refused("\x81\x05Hello", CloseCode::protocol_error);
  check_refused("\x81\x00"s, CloseCode::protocol_error);
  check_refused("\x82\x7f"s, CloseCode::protocol_error);
}

TEST_CASE("reserved bits are refused: no extension was agreed") {
  for (const int bit : {0x10, 0x20, 0x40, 0x70}) {
    CAPTURE(bit);
    check_refused(masked(kLast | bit | 1, "x"), CloseCode::protocol_error);
    check_refused(masked(kLast | bit | 9, "x"), CloseCode::protocol_error);
  }
}

TEST_CASE("the ten opcodes that mean nothing are refused") {
  for (const int opcode : {3, 4, 5, 6, 7, 11, 12, 13, 14, 15}) {
    CAPTURE(opcode);
    check_refused(masked(kLast | opcode, "x"), CloseCode::protocol_error);
  }
}

TEST_CASE("control frames are whole and have at most 125 bytes") {
  for (const Opcode opcode : {Opcode::close, Opcode::ping, Opcode::pong}) {
    CHECK(whole(sent(opcode, payload_of(125))).messages.size() == 1);
    check_refused(fragment(opcode, "x"), CloseCode::protocol_error);
    check_refused(sent(opcode, payload_of(126)), CloseCode::protocol_error);
    check_refused(sent(opcode, payload_of(65536)), CloseCode::protocol_error);
  }
}

TEST_CASE("fragments belong to one message that was begun and not ended") {
  check_refused(sent(Opcode::continuation, "x"), CloseCode::protocol_error);
  check_refused(fragment(Opcode::continuation, "x"), CloseCode::protocol_error);
  check_refused(sent(Opcode::text, "x") + sent(Opcode::continuation, "y"), CloseCode::protocol_error, 1);
  check_refused(
      fragment(Opcode::text, "x") + sent(Opcode::continuation, "y") + sent(Opcode::continuation, "z"),
      CloseCode::protocol_error, 1);
  check_refused(fragment(Opcode::text, "x") + sent(Opcode::text, "y"), CloseCode::protocol_error);
  check_refused(fragment(Opcode::text, "x") + fragment(Opcode::binary, "y"), CloseCode::protocol_error);
  check_refused(fragment(Opcode::text, "") + sent(Opcode::text, "y"), CloseCode::protocol_error);
}

TEST_CASE("a message is accepted at the limit and refused one past it, by its head alone") {
  for (const std::size_t most : {std::size_t{0}, std::size_t{1}, std::size_t{125}, std::size_t{126},
                                 std::size_t{1000}, std::size_t{65535}, kMessageMax}) {
    CAPTURE(most);
    CHECK(whole(sent(Opcode::text, payload_of(most)), most).messages.size() == 1);
    const std::string past = sent(Opcode::text, payload_of(most + 1));
    check_refused(past, CloseCode::too_big, 0, most);
    check_refused(past.substr(0, past.size() - most - 1), CloseCode::too_big, 0, most);
    check_refused(sent(Opcode::text, payload_of(most)) + past, CloseCode::too_big, 1, most);
  }
}

TEST_CASE("fragments are accepted up to the limit in sum and refused one past it") {
  const auto fragments = [](std::size_t last_bytes) {
    return fragment(Opcode::text, payload_of(600)) + sent(Opcode::ping, payload_of(125)) +
           fragment(Opcode::continuation, payload_of(300)) +
           sent(Opcode::continuation, payload_of(last_bytes));
  };
  const Heard at = byte_by_byte(fragments(100), 1000);
  CHECK_FALSE(at.faulted);
  REQUIRE(at.messages.size() == 2);
  CHECK(at.messages[1].second.size() == 1000);
  check_refused(fragments(101), CloseCode::too_big, 1, 1000);
  // The limit is each message's own.
  CHECK(whole(fragments(100) + fragments(100), 1000).messages.size() == 4);
}

TEST_CASE("lengths that no memory has are refused, also where adding to them would wrap around") {
  for (const std::uint64_t length :
       {std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{0} - 1, std::uint64_t{1} << 32}) {
    CAPTURE(length);
    check_refused(head(kLast | 1, length, 8) + "payload", CloseCode::too_big);
    check_refused(fragment(Opcode::text, "xy") + head(kLast, length, 8) + "payload", CloseCode::too_big);
    check_refused(head(kLast | 9, length, 8) + "payload", CloseCode::protocol_error);
  }
}

TEST_CASE("a length is written in the fewest bytes that hold it, or refused") {
  CHECK_FALSE(whole(head(kLast | 1, 126, 2)).faulted);
  CHECK_FALSE(whole(head(kLast | 1, 65535, 2)).faulted);
  CHECK_FALSE(whole(head(kLast | 1, 65536, 8)).faulted);
  check_refused(head(kLast | 1, 0, 2), CloseCode::protocol_error);
  check_refused(head(kLast | 1, 125, 2), CloseCode::protocol_error);
  check_refused(head(kLast | 9, 5, 2), CloseCode::protocol_error);
  check_refused(head(kLast | 1, 5, 8), CloseCode::protocol_error);
  check_refused(head(kLast | 1, 65535, 8), CloseCode::protocol_error);
}

TEST_CASE("after a fault nothing more is taken, and the first fault stays") {
  FrameReader reader{10};
  std::vector<Message> messages;
  CHECK(reader.fault() == CloseCode::normal);
  CHECK_FALSE(reader.read(
      sent(Opcode::text, "first") + sent(Opcode::text, "longer than ten") + sent(Opcode::text, "third"),
      messages));
  REQUIRE(messages.size() == 1);  // what was whole before the fault counts
  CHECK(messages[0].payload == "first");
  CHECK(reader.fault() == CloseCode::too_big);
  CHECK_FALSE(reader.read(sent(Opcode::text, "good"), messages));
  CHECK_FALSE(reader.read(sent(Opcode::continuation, "bad"), messages));
  CHECK_FALSE(reader.read("", messages));
  CHECK(messages.size() == 1);
  CHECK(reader.fault() == CloseCode::too_big);
}

TEST_CASE("frames have the shortest head that holds their length") {
  for (const auto& [bytes, head_bytes] : {std::pair{0, 2}, {125, 2}, {126, 4}, {65535, 4}, {65536, 10}}) {
    CAPTURE(bytes);
    const std::string payload = payload_of(static_cast<std::size_t>(bytes));
    const std::string frame = frame_of(Opcode::text, payload);
    CHECK(frame.size() == static_cast<std::size_t>(bytes + head_bytes));
    CHECK(frame[0] == '\x81');
    CHECK((frame[1] & 0x80) == 0);
    CHECK(frame.ends_with(payload));
  }
  CHECK(frame_of(Opcode::text, payload_of(65535)).starts_with("\x81\x7e\xff\xff"));
  CHECK(frame_of(Opcode::pong, "") == "\x8a\x00"s);
}

TEST_CASE("a close frame carries its code and as much of the reason as fits") {
  CHECK(close_frame(CloseCode::normal, "") == "\x88\x02\x03\xe8");
  CHECK(close_frame(CloseCode::session_ended, "say hello") == "\x88\x0b\x0f\xa2say hello");
  CHECK(close_frame(CloseCode::too_big, std::string(123, 'x')) ==
        "\x88\x7d\x03\xf1"s + std::string(123, 'x'));
  CHECK(close_frame(CloseCode::too_big, std::string(124, 'x')) ==
        "\x88\x7d\x03\xf1"s + std::string(123, 'x'));
}

TEST_CASE("the reason in a close frame is UTF-8, whoever's words it repeats") {
  const auto reason_of = [](std::string_view reason) {
    return close_frame(CloseCode::protocol_error, reason).substr(4);
  };
  CHECK(reason_of("wo §, … and \xf0\x9f\x98\x80") == "wo §, … and \xf0\x9f\x98\x80");
  // A character is not cut in two.
  CHECK(reason_of(std::string(120, 'x') + "……") == std::string(120, 'x') + "…");
  CHECK(reason_of(std::string(121, 'x') + "…") == std::string(121, 'x'));
  CHECK(reason_of("\xff\x80"
                  "a\xc3") == "??a?");
  CHECK(reason_of("\xc0\xaf \xe0\x9f\xbf \xf0\x8f\xbf\xbf") == "?? ??? ????");            // overlong
  CHECK(reason_of("\xed\xa0\x80 \xf4\x90\x80\x80 \xf5\x80\x80\x80") == "??? ???? ????");  // no characters
  CHECK(reason_of("\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf") == "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf");
}

TEST_CASE("the key of a handshake is answered as RFC 6455 does, and only if it is one") {
  CHECK(accept_key("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  for (const char* key :
       {"", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZQ=", "dGhlIHNhbXBsZSBub25j",
        "dGhlIHNhbXBsZSBub25jZXg=", "dGhlIHNhbXBsZSBub25jZR==", " dGhlIHNhbXBsZSBub25jZQ==",
        "dGhlIHNhbXBsZSBub25jZQ== ", "dGhlIHNhbXBs-SBub25jZQ==", "not base64 at all, no!!!"}) {
    CAPTURE(key);
    CHECK_FALSE(accept_key(key));
  }
}

TEST_CASE("frames that the fuzzer starts from or once found break nothing") {
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator{REMOTIST_SOURCE_DIR "/tests/fuzz/corpus/frames"}) {
    std::ifstream in{entry.path(), std::ios::binary};
    const std::string bytes{std::istreambuf_iterator<char>{in}, {}};
    CAPTURE(entry.path().string());
    CHECK(fuzz::frames_broken_by(bytes) == "");
    ++files;
  }
  CHECK(files >= 30);
}

}  // namespace remotist::websocket
