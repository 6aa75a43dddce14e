#include "core/amqp/channel.h"

#include <algorithm>
#include <utility>

#include "core/amqp/fault.h"
#include "core/amqp/handshake.h"

namespace remotist::amqp {
namespace {

template <class Fields>
const Fields& fields_of(const amqp_method_t& method) {
  return *static_cast<const Fields*>(method.decoded);
}

}  // namespace

Channel::Channel(const Address& address, const ConnectionOptions& options)
    : rpc_timeout_(options.rpc_timeout),
      wake_(options.wake),
      wire_(address, Clock::now() + options.connect_timeout, options.wake) {
  shake_hands(wire_, address, {options.name, options.heartbeat}, Clock::now() + rpc_timeout_, wake_);
  amqp_channel_open_t fields{};
  call<amqp_channel_open_ok_t>(AMQP_CHANNEL_OPEN_METHOD, &fields, AMQP_CHANNEL_OPEN_OK_METHOD);
}

void Channel::send_content(amqp_basic_properties_t& properties, std::string_view body) {
  wire_.send_content(kNumber, properties, body);
}

amqp_method_t Channel::call(amqp_method_number_t method, void* fields,
                            std::initializer_list<amqp_method_number_t> answers) {
  send(method, fields);
  const auto deadline = Clock::now() + rpc_timeout_;
  for (;;) {
    const amqp_frame_t frame = next_frame(method, deadline);
    if (frame.frame_type == AMQP_FRAME_METHOD && frame.channel == kNumber &&
        std::ranges::find(answers, frame.payload.method.id) != answers.end()) {
      return frame.payload.method;
    }
    handle_frame(frame);
  }
}

Delivered Channel::read_got(const amqp_basic_get_ok_t& announced) {
  assembly_.begin(announced);
  const auto deadline = Clock::now() + rpc_timeout_;
  for (;;) {
    const amqp_frame_t frame = next_frame(AMQP_BASIC_GET_METHOD, deadline);
    if (frame.frame_type == AMQP_FRAME_METHOD) {
      handle_method(frame.payload.method);
    } else if (auto whole = assembly_.add(frame)) {
      return std::get<Delivered>(std::move(*whole));
    }
  }
}

std::vector<Event> Channel::wait(Clock::time_point deadline, std::size_t events_max) {
  constexpr Clock::time_point kPast{};
  amqp_frame_t frame{};
  // Once there is something to tell, take only what has already arrived.
  while (events_.size() < events_max && wire_.next(frame, events_.empty() ? deadline : kPast))
    handle_frame(frame);
  return std::exchange(events_, {});
}

void Channel::send_close() {
  amqp_connection_close_t goodbye{};
  goodbye.reply_code = AMQP_REPLY_SUCCESS;
  wire_.send_method(0, AMQP_CONNECTION_CLOSE_METHOD, &goodbye);
  wire_.flush();
}

void Channel::close(Clock::time_point deadline) {
  wire_.forget_wake();
  send_close();
  for (amqp_frame_t frame{}; Clock::now() < deadline;) {
    if (!wire_.next(frame, deadline)) continue;
    if (frame.frame_type == AMQP_FRAME_METHOD && frame.payload.method.id == AMQP_CONNECTION_CLOSE_OK_METHOD)
      return;
  }
}

amqp_frame_t Channel::next_frame(amqp_method_number_t for_method, Clock::time_point deadline) {
  amqp_frame_t frame{};
  while (!wire_.next(frame, deadline)) {
    if (wake_ != nullptr && wake_->stopped()) throw ConnectionLost{"stopped"};
    if (Clock::now() >= deadline) {
      throw ConnectionLost{std::string{"the broker did not answer in time: "} + amqp_method_name(for_method)};
    }
  }
  return frame;
}

void Channel::handle_frame(const amqp_frame_t& frame) {
  if (frame.frame_type == AMQP_FRAME_METHOD) {
    handle_method(frame.payload.method);
  } else if (auto whole = assembly_.add(frame)) {
    std::visit([this](auto& message) { events_.emplace_back(std::move(message)); }, *whole);
  }
}

void Channel::handle_method(const amqp_method_t& method) {
  switch (method.id) {
    case AMQP_BASIC_ACK_METHOD: {
      const auto& fields = fields_of<amqp_basic_ack_t>(method);
      events_.emplace_back(Confirmed{fields.delivery_tag, fields.multiple != 0});
      break;
    }
    case AMQP_BASIC_NACK_METHOD: {
      const auto& fields = fields_of<amqp_basic_nack_t>(method);
      events_.emplace_back(Refused{fields.delivery_tag, fields.multiple != 0});
      break;
    }
    case AMQP_BASIC_DELIVER_METHOD:
      assembly_.begin(fields_of<amqp_basic_deliver_t>(method));
      break;
    case AMQP_BASIC_RETURN_METHOD:
      assembly_.begin(fields_of<amqp_basic_return_t>(method));
      break;
    case AMQP_CONNECTION_BLOCKED_METHOD:
      blocked_ = true;
      events_.emplace_back(Blocked{text_of(fields_of<amqp_connection_blocked_t>(method).reason)});
      break;
    case AMQP_CONNECTION_UNBLOCKED_METHOD:
      blocked_ = false;
      events_.emplace_back(Unblocked{});
      break;
    case AMQP_BASIC_CANCEL_METHOD:
      events_.emplace_back(ConsumerCancelled{text_of(fields_of<amqp_basic_cancel_t>(method).consumer_tag)});
      break;
    case AMQP_CHANNEL_CLOSE_METHOD:
      answer_close(fields_of<amqp_channel_close_t>(method));
    default:
      throw ConnectionLost{std::string{"the broker sent what nobody asked for: "} +
                           amqp_method_name(method.id)};
  }
}

void Channel::answer_close(const amqp_channel_close_t& close) {
  const ChannelClosed fault{"the broker closed the channel: " + text_of(close.reply_text), close.reply_code};
  amqp_channel_close_ok_t nothing{};
  send(AMQP_CHANNEL_CLOSE_OK_METHOD, &nothing);
  wire_.flush();
  throw fault;
}

}  // namespace remotist::amqp
