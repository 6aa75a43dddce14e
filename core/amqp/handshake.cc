#include "core/amqp/handshake.h"

#include <algorithm>
#include <array>

#include "core/amqp/fault.h"

namespace remotist::amqp {
namespace {

constexpr std::uint32_t kFrameBytesMax = 128 << 10;
constexpr std::uint32_t kFrameBytesMin = 4096;  // AMQP's own lower bound

amqp_table_entry_t text_entry(std::string_view key, std::string_view text) {
  amqp_table_entry_t entry{};
  entry.key = bytes_of(key);
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = bytes_of(text);
  return entry;
}

amqp_table_entry_t yes_entry(std::string_view key) {
  amqp_table_entry_t entry{};
  entry.key = bytes_of(key);
  entry.value.kind = AMQP_FIELD_KIND_BOOLEAN;
  entry.value.value.boolean = 1;
  return entry;
}

// The fields of the method that must come next; they live until the wire's next frame.
template <class Fields>
const Fields& expect(Wire& wire, amqp_method_number_t method, Clock::time_point deadline, Wake* wake) {
  for (;;) {
    amqp_frame_t frame{};
    if (wire.next(frame, deadline)) {
      if (frame.frame_type == AMQP_FRAME_METHOD && frame.payload.method.id == method) {
        return *static_cast<const Fields*>(frame.payload.method.decoded);
      }
      throw ConnectionLost{"the broker answered the login with something else"};
    }
    if (wake != nullptr && wake->stopped()) throw ConnectionLost{"stopped"};
    if (Clock::now() >= deadline) throw ConnectionLost{"the broker did not answer the login in time"};
  }
}

void send_start_ok(Wire& wire, const Address& address, const std::string& connection_name) {
  // Without these the broker keeps its alarms, the end of a consumer and the reason of a failed login to
  // itself.
  std::array capabilities{yes_entry("connection.blocked"), yes_entry("consumer_cancel_notify"),
                          yes_entry("authentication_failure_close"), yes_entry("publisher_confirms"),
                          yes_entry("basic.nack")};
  amqp_table_entry_t all{};
  all.key = bytes_of("capabilities");
  all.value.kind = AMQP_FIELD_KIND_TABLE;
  all.value.value.table = {static_cast<int>(capabilities.size()), capabilities.data()};
  std::array properties{text_entry("product", "remotist"), text_entry("connection_name", connection_name),
                        all};

  const std::string response = '\0' + address.user + '\0' + address.password;
  amqp_connection_start_ok_t fields{};
  fields.client_properties = {static_cast<int>(properties.size()), properties.data()};
  fields.mechanism = bytes_of("PLAIN");
  fields.response = bytes_of(response);
  fields.locale = bytes_of("en_US");
  wire.send_method(0, AMQP_CONNECTION_START_OK_METHOD, &fields);
}

// Zero stands for "no wish" on either side.
template <class T>
T agreed(T ours, T theirs) {
  return theirs == 0 ? ours : std::min(ours, theirs);
}

}  // namespace

void shake_hands(Wire& wire, const Address& address, const Handshake& wishes, Clock::time_point deadline,
                 Wake* wake) {
  wire.send_protocol_header();
  const auto& start = expect<amqp_connection_start_t>(wire, AMQP_CONNECTION_START_METHOD, deadline, wake);
  if ((" " + text_of(start.mechanisms) + " ").find(" PLAIN ") == std::string::npos) {
    throw ConnectionLost{"the broker does not accept logins by password (SASL PLAIN)"};
  }
  send_start_ok(wire, address, wishes.connection_name);

  const auto& tune = expect<amqp_connection_tune_t>(wire, AMQP_CONNECTION_TUNE_METHOD, deadline, wake);
  amqp_connection_tune_ok_t tuned{};
  tuned.channel_max = 1;
  tuned.frame_max = agreed(kFrameBytesMax, tune.frame_max);
  tuned.heartbeat = agreed(static_cast<std::uint16_t>(wishes.heartbeat.count()), tune.heartbeat);
  if (tuned.frame_max < kFrameBytesMin) throw ConnectionLost{"the broker asks for frames that are too small"};
  wire.send_method(0, AMQP_CONNECTION_TUNE_OK_METHOD, &tuned);
  wire.tune(tuned.frame_max, std::chrono::seconds{tuned.heartbeat});

  amqp_connection_open_t open{};
  open.virtual_host = bytes_of(address.virtual_host);
  wire.send_method(0, AMQP_CONNECTION_OPEN_METHOD, &open);
  expect<amqp_connection_open_ok_t>(wire, AMQP_CONNECTION_OPEN_OK_METHOD, deadline, wake);
}

}  // namespace remotist::amqp
