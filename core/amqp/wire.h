// AMQP 0-9-1 frames over one TCP connection, with heartbeats. Private to core/amqp: this header includes
// librabbitmq, the public ones do not.
//
// librabbitmq encodes and decodes; its socket layer is not used, because
//  - its sends have no deadline, and a non-blocking socket knows no send time-out: a broker under a memory
//    alarm stops reading but goes on sending heartbeats, and half a frame waits for as long as that lasts;
//  - its calls set aside what arrives before their answer, in a second queue with an order of its own;
//  - nothing but the next frame ends its waits.
// Here nothing blocks but next(), and next() always has a deadline.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <rabbitmq-c/amqp.h>
#include <rabbitmq-c/framing.h>
#include <string>
#include <string_view>
#include <vector>

#include "core/amqp/address.h"
#include "core/amqp/socket.h"
#include "core/amqp/wake.h"

namespace remotist::amqp {

inline amqp_bytes_t bytes_of(std::string_view text) {
  return {text.size(), const_cast<char*>(text.data())};  // librabbitmq never writes to it
}
inline std::string text_of(amqp_bytes_t bytes) {
  return {static_cast<const char*>(bytes.bytes), bytes.len};
}

class Wire {
 public:
  // Connects the socket; the handshake is the caller's. Throws ConnectionLost.
  Wire(const Address& address, Clock::time_point connect_by, Wake* wake);

  // What both sides agreed on in connection.tune. Without it: 64 KiB, no heartbeats.
  void tune(std::size_t frame_max, std::chrono::seconds heartbeat);

  // All three append to the output buffer; flush() and next() write it to the socket.
  void send_protocol_header();
  void send_method(amqp_channel_t channel, amqp_method_number_t method, void* fields);
  void send_content(amqp_channel_t channel, amqp_basic_properties_t& properties, std::string_view body);
  void flush();
  std::size_t unsent_bytes() const { return outbound_.size() - outbound_sent_; }

  // The next frame that is neither a heartbeat nor connection.close; what it points to lives until the next
  // call. False at the deadline, when woken, and when the bytes that had waited at the call went out. With a
  // deadline in the past it takes what is there and does not wait. Throws ConnectionLost: closed, broken,
  // refused by the broker, or silent for two heartbeats.
  bool next(amqp_frame_t& frame, Clock::time_point deadline);

  void forget_wake() { socket_.forget_wake(); }

 private:
  struct DestroyCodec {
    void operator()(amqp_connection_state_t codec) const { amqp_destroy_connection(codec); }
  };

  bool decode(amqp_frame_t& frame);
  void append_frame(std::uint8_t type, amqp_channel_t channel, std::string_view payload);
  [[noreturn]] void answer_close(const amqp_connection_close_t& close);

  Socket socket_;
  std::unique_ptr<amqp_connection_state_t_, DestroyCodec> codec_;
  std::vector<char> scratch_;  // one encoded method or header
  std::vector<char> inbound_;
  std::size_t inbound_begin_ = 0;
  std::size_t inbound_end_ = 0;
  std::string outbound_;
  std::size_t outbound_sent_ = 0;
  std::size_t frame_max_ = 65536;
  std::chrono::milliseconds heartbeat_{0};
  Clock::time_point received_at_ = Clock::now();
  Clock::time_point sent_at_ = received_at_;
};

}  // namespace remotist::amqp
