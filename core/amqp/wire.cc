#include "core/amqp/wire.h"

#include <algorithm>
#include <new>

#include "core/amqp/fault.h"

namespace remotist::amqp {
namespace {

constexpr std::size_t kInboundBytes = 128 << 10;
constexpr std::size_t kEncodedBytesMax =
    16 << 10;  // a method or a header; the longest of ours has four short strings
constexpr std::size_t kFrameOverheadBytes = 8;  // type, channel, size, end
constexpr char kFrameEnd = static_cast<char>(AMQP_FRAME_END);

void append_number(std::string& out, std::uint64_t number, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out.push_back(static_cast<char>(number >> shift));
}

std::string_view encoded_or_throw(int size, const std::vector<char>& scratch) {
  if (size < 0)
    throw std::length_error{std::string{"cannot encode an AMQP frame: "} + amqp_error_string2(size)};
  return {scratch.data(), static_cast<std::size_t>(size)};
}

}  // namespace

Wire::Wire(const Address& address, Clock::time_point connect_by, Wake* wake)
    : socket_(address.host, address.port, connect_by, wake),
      codec_(amqp_new_connection()),
      scratch_(kEncodedBytesMax),
      inbound_(kInboundBytes) {
  if (codec_ == nullptr) throw std::bad_alloc{};
}

void Wire::tune(std::size_t frame_max, std::chrono::seconds heartbeat) {
  amqp_maybe_release_buffers(codec_.get());
  // Heartbeats are ours: the codec sees no socket to send them on.
  if (const int status = amqp_tune_connection(codec_.get(), 0, static_cast<int>(frame_max), 0);
      status != AMQP_STATUS_OK) {
    throw ConnectionLost{std::string{"cannot tune the connection: "} + amqp_error_string2(status)};
  }
  frame_max_ = frame_max;
  heartbeat_ = heartbeat;
}

void Wire::send_protocol_header() {
  outbound_.append("AMQP\0\0\x9\x1", 8);
}

void Wire::send_method(amqp_channel_t channel, amqp_method_number_t method, void* fields) {
  const int size = amqp_encode_method(method, fields, {scratch_.size(), scratch_.data()});
  std::string payload;
  append_number(payload, method, 4);
  payload += encoded_or_throw(size, scratch_);
  append_frame(AMQP_FRAME_METHOD, channel, payload);
}

void Wire::send_content(amqp_channel_t channel, amqp_basic_properties_t& properties, std::string_view body) {
  const int size = amqp_encode_properties(AMQP_BASIC_CLASS, &properties, {scratch_.size(), scratch_.data()});
  std::string payload;
  append_number(payload, AMQP_BASIC_CLASS, 2);
  append_number(payload, 0, 2);  // weight, unused
  append_number(payload, body.size(), 8);
  payload += encoded_or_throw(size, scratch_);
  append_frame(AMQP_FRAME_HEADER, channel, payload);

  const std::size_t piece_max = frame_max_ - kFrameOverheadBytes;
  for (std::size_t at = 0; at < body.size(); at += piece_max) {
    append_frame(AMQP_FRAME_BODY, channel, body.substr(at, piece_max));
  }
}

void Wire::append_frame(std::uint8_t type, amqp_channel_t channel, std::string_view payload) {
  outbound_.push_back(static_cast<char>(type));
  append_number(outbound_, channel, 2);
  append_number(outbound_, payload.size(), 4);
  outbound_ += payload;
  outbound_.push_back(kFrameEnd);
}

void Wire::flush() {
  while (unsent_bytes() > 0) {
    const std::size_t sent = socket_.send(std::string_view{outbound_}.substr(outbound_sent_));
    if (sent == 0) return;
    outbound_sent_ += sent;
    sent_at_ = Clock::now();
  }
  outbound_.clear();
  outbound_sent_ = 0;
}

bool Wire::next(amqp_frame_t& frame, Clock::time_point deadline) {
  flush();
  const bool choked = unsent_bytes() > 0;
  for (;;) {
    if (decode(frame)) return true;
    if (const auto got = socket_.receive(inbound_)) {
      inbound_begin_ = 0;
      inbound_end_ = *got;
      received_at_ = Clock::now();
      continue;
    }
    // Only now that nothing is left to read is silence the broker's, and not our own absence.
    const auto now = Clock::now();
    auto until = deadline;
    if (heartbeat_.count() > 0) {
      if (now - received_at_ >= 2 * heartbeat_)
        throw ConnectionLost{"the broker was silent for two heartbeats"};
      // Unsent bytes will do as a sign of life, and a broker that does not read sees no other.
      if (now - sent_at_ >= heartbeat_ / 2 && unsent_bytes() == 0) append_frame(AMQP_FRAME_HEARTBEAT, 0, {});
      until = std::min({until, received_at_ + 2 * heartbeat_, now + heartbeat_ / 2});
    }
    flush();
    if (choked && unsent_bytes() == 0) return false;
    if (now >= deadline || !socket_.wait(unsent_bytes() > 0, until)) return false;
  }
}

bool Wire::decode(amqp_frame_t& frame) {
  while (inbound_begin_ < inbound_end_) {
    // Frees what the frame before pointed to; only then, because a frame that is half read must stay.
    amqp_maybe_release_buffers(codec_.get());
    const amqp_bytes_t rest{inbound_end_ - inbound_begin_, inbound_.data() + inbound_begin_};
    const int used = amqp_handle_input(codec_.get(), rest, &frame);
    if (used <= 0)
      throw ConnectionLost{std::string{"cannot read what the broker sent: "} + amqp_error_string2(used)};
    inbound_begin_ += static_cast<std::size_t>(used);
    if (frame.frame_type == 0 || frame.frame_type == AMQP_FRAME_HEARTBEAT) continue;
    if (frame.frame_type > AMQP_FRAME_BODY) {  // the codec's mark for a protocol header instead of a frame
      throw ConnectionLost{"what listens there does not speak AMQP 0-9-1"};
    }
    if (frame.frame_type == AMQP_FRAME_METHOD && frame.payload.method.id == AMQP_CONNECTION_CLOSE_METHOD) {
      answer_close(*static_cast<const amqp_connection_close_t*>(frame.payload.method.decoded));
    }
    return true;
  }
  return false;
}

void Wire::answer_close(const amqp_connection_close_t& close) {
  const std::string why = text_of(close.reply_text);
  const int reply_code = close.reply_code;
  amqp_connection_close_ok_t nothing{};
  send_method(0, AMQP_CONNECTION_CLOSE_OK_METHOD, &nothing);
  flush();
  throw ConnectionLost{"the broker closed the connection: " + why, reply_code};
}

}  // namespace remotist::amqp
