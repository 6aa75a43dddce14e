// Puts a message together from its frames: a method that announces it, a header, a body in pieces. Only for
// connection.cc. One per channel, since AMQP never mixes two messages on a channel.
#pragma once

#include <cstdint>
#include <optional>
#include <rabbitmq-c/amqp.h>
#include <rabbitmq-c/framing.h>
#include <string_view>
#include <variant>

#include "core/amqp/message.h"

namespace remotist::amqp {

// AMQP's basic.return does not say which publish it is about, but it brings the message back as it was sent:
// so a mandatory message takes its tag along. Its id would not do, since one that is sent again can be on its
// way twice.
inline constexpr std::string_view kPublishTagHeader = "publish_tag";

class Assembly {
 public:
  using Whole = std::variant<Delivered, Returned>;

  // basic.deliver, basic.get-ok or basic.return: the message that follows.
  void begin(const amqp_basic_deliver_t& method);
  void begin(const amqp_basic_get_ok_t& method);
  void begin(const amqp_basic_return_t& method);

  // A header or body frame; the message when it was the last. Throws ConnectionLost when none was announced
  // or more comes than was announced.
  std::optional<Whole> add(const amqp_frame_t& frame);

 private:
  std::optional<Whole> whole_if_complete();

  std::optional<Whole> message_;
  std::optional<std::uint64_t> missing_;  // bytes of the body; nothing before the header
};

}  // namespace remotist::amqp
