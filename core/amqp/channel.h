// The one channel of a connection: remote calls with their answers, and all other frames as events. Private
// to connection.cc.
#pragma once

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "core/amqp/assembly.h"
#include "core/amqp/connection.h"
#include "core/amqp/message.h"
#include "core/amqp/wire.h"

namespace remotist::amqp {

class Channel {
 public:
  // Connects, logs in and opens the channel. Throws ConnectionLost.
  Channel(const Address& address, const ConnectionOptions& options);

  void send(amqp_method_number_t method, void* fields) { wire_.send_method(kNumber, method, fields); }
  void send_content(amqp_basic_properties_t& properties, std::string_view body);
  void flush() { wire_.flush(); }
  std::size_t unsent_bytes() const { return wire_.unsent_bytes(); }

  // Sends a method and waits for its answer, whose fields live until the next frame. Other frames become
  // events. Throws ConnectionLost and ChannelClosed, as everything below.
  amqp_method_t call(amqp_method_number_t method, void* fields,
                     std::initializer_list<amqp_method_number_t> answers);
  template <class Answer>
  const Answer& call(amqp_method_number_t method, void* fields, amqp_method_number_t answer) {
    return *static_cast<const Answer*>(call(method, fields, {answer}).decoded);
  }

  // The message that basic.get-ok announces.
  Delivered read_got(const amqp_basic_get_ok_t& announced);

  // As Connection::wait().
  std::vector<Event> wait(Clock::time_point deadline, std::size_t events_max);

  bool blocked() const { return blocked_; }

  // Sends connection.close if the socket takes it at once; close() also waits for the answer.
  void send_close();
  void close(Clock::time_point deadline);

 private:
  static constexpr amqp_channel_t kNumber = 1;

  amqp_frame_t next_frame(amqp_method_number_t for_method, Clock::time_point deadline);
  void handle_frame(const amqp_frame_t& frame);
  void handle_method(const amqp_method_t& method);
  [[noreturn]] void answer_close(const amqp_channel_close_t& close);

  const std::chrono::milliseconds rpc_timeout_;
  Wake* const wake_;
  Wire wire_;
  Assembly assembly_;
  std::vector<Event> events_;
  bool blocked_ = false;
};

}  // namespace remotist::amqp
