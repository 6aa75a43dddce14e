// Assembles a message from its frames: the method that announces it, the header, the body frames. Private to
// connection.cc. One per channel, since AMQP never interleaves two messages on a channel.
#pragma once

#include <cstdint>
#include <optional>
#include <rabbitmq-c/amqp.h>
#include <rabbitmq-c/framing.h>
#include <string_view>
#include <variant>

#include "core/amqp/message.h"

namespace remotist::amqp {

// AMQP's basic.return does not name the publish that it answers, but returns the message with its headers: so
// a mandatory message carries its publish tag in this header. The message id would be ambiguous, since a
// message that is sent again may be in flight twice.
inline constexpr std::string_view kPublishTagHeader = "publish_tag";

class Assembly {
 public:
  using Whole = std::variant<Delivered, Returned>;

  // basic.deliver, basic.get-ok or basic.return: the message that follows.
  void begin(const amqp_basic_deliver_t& method);
  void begin(const amqp_basic_get_ok_t& method);
  void begin(const amqp_basic_return_t& method);

  // Adds a header or body frame. Returns the message with its last frame. Throws ConnectionLost when no
  // message was announced or the body is longer than announced.
  std::optional<Whole> add(const amqp_frame_t& frame);

 private:
  std::optional<Whole> whole_if_complete();

  std::optional<Whole> message_;
  std::optional<std::uint64_t> missing_;  // bytes of the body; nothing before the header
};

}  // namespace remotist::amqp
