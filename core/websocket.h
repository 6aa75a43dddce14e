// WebSocket frames (RFC 6455), the server's side.
//
// Debian's Drogon 1.9.0 reads an unmasked frame of any length, and fragments without end, into memory; a
// length near 2^64 ends the process. Volunteers are not trusted, so their frames are read here instead:
// strictly, and never more of them than a message may have.
//
//   byte 0   FIN, three reserved bits (zero: no extension was agreed), opcode
//   byte 1   MASK (one from a client), length: 0 … 125, 126 with two more bytes, 127 with eight
//   4 bytes  masking key
//   payload  each byte XOR the key's
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace remotist::websocket {

enum class Opcode : std::uint8_t { continuation = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10 };

// Why a connection is closed, as the other side is told (RFC 6455, 7.4; from 4000 on our own).
enum class CloseCode : std::uint16_t {
  normal = 1000,
  going_away = 1001,  // the market stops: connect again, to any market
  protocol_error = 1002,
  not_text = 1003,
  not_utf8 = 1007,
  too_much = 1008,  // more unacknowledged than the protocol allows
  too_big = 1009,
  replaced = 4001,       // the same machine has connected again
  session_ended = 4002,  // the lease ran out: say hello again
  unauthenticated = 4003,
  unsupported = 4004,  // no protocol version in common
};

struct Message {
  Opcode opcode;        // text, binary, close, ping or pong
  std::string payload;  // whole, unmasked
};

// Takes bytes as they arrive and gives whole messages. After a fault it takes nothing more.
class FrameReader {
 public:
  explicit FrameReader(std::size_t message_bytes_max) : message_bytes_max_(message_bytes_max) {}

  // Appends what the bytes complete to `into`; false when they break the rules, and fault() says how. Keeps
  // at most one message and one frame's head.
  bool read(std::string_view bytes, std::vector<Message>& into);

  CloseCode fault() const { return fault_; }

 private:
  struct Head {
    bool last;
    Opcode opcode;
    std::uint64_t length;
    std::uint8_t mask[4];
  };
  // Parses head_ if it is complete; `head_bytes_wanted_` grows while it is not.
  bool parse_head();
  bool check_head(bool reserved, bool masked);
  void finish_frame(std::vector<Message>& into);
  bool fail(CloseCode code);

  const std::size_t message_bytes_max_;
  std::string head_bytes_;
  std::size_t head_bytes_wanted_ = 2;
  std::optional<Head> head_;
  std::uint64_t frame_bytes_ = 0;         // of the payload, read so far
  std::string control_;                   // a control frame may come between the fragments of a message
  std::string message_;                   // the fragments so far
  std::optional<Opcode> message_opcode_;  // of the message whose fragments are being read
  CloseCode fault_ = CloseCode::normal;
  bool failed_ = false;
};

// One unmasked frame, as a server sends it.
std::string frame_of(Opcode opcode, std::string_view payload);
// A close frame has room for 123 bytes of reason and must be UTF-8; whatever the reason is, the frame is
// right.
std::string close_frame(CloseCode code, std::string_view reason);

// The answer to a client's Sec-WebSocket-Key; none when the key is not 16 bytes in base64.
std::optional<std::string> accept_key(std::string_view key);

}  // namespace remotist::websocket
