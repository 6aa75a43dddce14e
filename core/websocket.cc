#include "core/websocket.h"

#include <algorithm>
#include <openssl/sha.h>
#include <utility>

#include "core/digest.h"
#include "core/utf8.h"

namespace remotist::websocket {
namespace {

constexpr std::size_t kControlBytesMax = 125;
constexpr std::uint8_t kLength16 = 126;
constexpr std::uint8_t kLength64 = 127;

bool is_control(Opcode opcode) {
  return static_cast<std::uint8_t>(opcode) >= 8;
}

bool is_known(std::uint8_t opcode) {
  return opcode <= 2 || (opcode >= 8 && opcode <= 10);
}

std::uint64_t big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
  return value;
}

std::size_t length_bytes_of(std::uint64_t length) {
  return length < kLength16 ? 0 : length <= 0xffff ? 2 : 8;
}

}  // namespace

bool FrameReader::fail(CloseCode code) {
  failed_ = true;
  fault_ = code;
  message_.clear();
  control_.clear();
  return false;
}

bool FrameReader::read(std::string_view bytes, std::vector<Message>& into) {
  if (failed_) return false;
  while (!bytes.empty()) {
    if (!head_) {
      const auto take = std::min(bytes.size(), head_bytes_wanted_ - head_bytes_.size());
      head_bytes_.append(bytes.substr(0, take));
      bytes.remove_prefix(take);
      if (head_bytes_.size() == head_bytes_wanted_ && !parse_head()) return false;
      if (!head_) continue;
    }
    const auto take =
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), head_->length - frame_bytes_));
    std::string& payload = is_control(head_->opcode) ? control_ : message_;
    for (const char byte : bytes.substr(0, take)) {
      payload.push_back(static_cast<char>(static_cast<std::uint8_t>(byte) ^ head_->mask[frame_bytes_++ % 4]));
    }
    bytes.remove_prefix(take);
    if (frame_bytes_ == head_->length) finish_frame(into);
  }
  return true;
}

bool FrameReader::parse_head() {
  const auto first = static_cast<std::uint8_t>(head_bytes_[0]);
  const auto second = static_cast<std::uint8_t>(head_bytes_[1]);
  const std::uint8_t short_length = second & 0x7f;
  const std::size_t length_bytes = short_length == kLength16 ? 2 : short_length == kLength64 ? 8 : 0;
  const bool masked = (second & 0x80) != 0;
  head_bytes_wanted_ = 2 + length_bytes + 4;
  if (!is_known(first & 0x0f)) return fail(CloseCode::protocol_error);
  if (head_bytes_.size() < head_bytes_wanted_) {
    // An unmasked frame has no key to wait for.
    return masked || fail(CloseCode::protocol_error);
  }
  Head head{.last = (first & 0x80) != 0,
            .opcode = static_cast<Opcode>(first & 0x0f),
            .length = length_bytes == 0 ? short_length
                                        : big_endian(std::string_view{head_bytes_}.substr(2, length_bytes)),
            .mask = {}};
  std::copy_n(head_bytes_.end() - 4, 4, head.mask);
  head_ = head;
  // The shortest form is the only one (RFC 6455, 5.2).
  if (length_bytes != length_bytes_of(head.length)) return fail(CloseCode::protocol_error);
  return check_head((first & 0x70) != 0, masked);
}

bool FrameReader::check_head(bool reserved, bool masked) {
  if (reserved || !masked) return fail(CloseCode::protocol_error);
  if (is_control(head_->opcode)) {
    if (!head_->last || head_->length > kControlBytesMax) return fail(CloseCode::protocol_error);
  } else {
    const bool continues = head_->opcode == Opcode::continuation;
    if (continues != message_opcode_.has_value()) return fail(CloseCode::protocol_error);
    if (head_->length > message_bytes_max_ - message_.size()) return fail(CloseCode::too_big);
    if (!continues) message_opcode_ = head_->opcode;
  }
  head_bytes_.clear();
  head_bytes_wanted_ = 2;
  frame_bytes_ = 0;
  return true;
}

void FrameReader::finish_frame(std::vector<Message>& into) {
  if (is_control(head_->opcode)) {
    into.push_back({head_->opcode, std::exchange(control_, {})});
  } else if (head_->last) {
    into.push_back({*message_opcode_, std::exchange(message_, {})});
    message_opcode_.reset();
  }
  head_.reset();
}

std::string frame_of(Opcode opcode, std::string_view payload) {
  std::string frame;
  frame.reserve(payload.size() + 10);
  frame.push_back(static_cast<char>(0x80 | static_cast<std::uint8_t>(opcode)));
  const std::size_t length_bytes = length_bytes_of(payload.size());
  frame.push_back(static_cast<char>(length_bytes == 0   ? payload.size()
                                    : length_bytes == 2 ? kLength16
                                                        : kLength64));
  for (std::size_t i = length_bytes; i-- > 0;) frame.push_back(static_cast<char>(payload.size() >> (8 * i)));
  return frame.append(payload);
}

std::string close_frame(CloseCode code, std::string_view reason) {
  const auto number = static_cast<std::uint16_t>(code);
  std::string payload{static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
  return frame_of(Opcode::close, payload.append(utf8_within(reason, kControlBytesMax - 2)));
}

std::optional<std::string> accept_key(std::string_view key) {
  const auto bytes = bytes_of_base64(key);
  if (!bytes || bytes->size() != 16) return std::nullopt;
  const std::string text = std::string{key} + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return base64_of({reinterpret_cast<const char*>(digest), sizeof digest});
}

}  // namespace remotist::websocket
