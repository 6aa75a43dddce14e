#include "core/amqp/assembly.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "core/amqp/fault.h"
#include "core/amqp/wire.h"

namespace remotist::amqp {
namespace {

// Bodies grow as they come; no more than this is set aside because of a header alone.
constexpr std::uint64_t kReserveBytesMax = kBodyBytesMax;

std::int64_t number_in_headers(const amqp_basic_properties_t& properties, std::string_view key) {
  if ((properties._flags & AMQP_BASIC_HEADERS_FLAG) == 0) return 0;
  for (int i = 0; i < properties.headers.num_entries; ++i) {
    const amqp_table_entry_t& entry = properties.headers.entries[i];
    if (text_of(entry.key) != key) continue;
    switch (entry.value.kind) {
      case AMQP_FIELD_KIND_I64:
        return entry.value.value.i64;
      case AMQP_FIELD_KIND_I32:
        return entry.value.value.i32;
      case AMQP_FIELD_KIND_I16:
        return entry.value.value.i16;
      case AMQP_FIELD_KIND_I8:
        return entry.value.value.i8;
      default:
        return 0;
    }
  }
  return 0;
}

void read_properties(const amqp_basic_properties_t& properties, Delivered& into) {
  if ((properties._flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0) into.message_id = text_of(properties.message_id);
  if ((properties._flags & AMQP_BASIC_CORRELATION_ID_FLAG) != 0)
    into.request_id = text_of(properties.correlation_id);
  into.delivery_count = number_in_headers(properties, "x-delivery-count");
}

void read_properties(const amqp_basic_properties_t& properties, Returned& into) {
  if ((properties._flags & AMQP_BASIC_MESSAGE_ID_FLAG) != 0) into.message_id = text_of(properties.message_id);
  into.tag = static_cast<std::uint64_t>(number_in_headers(properties, kPublishTagHeader));
}

void reserve_body(Delivered& into, std::uint64_t size) {
  into.body.reserve(std::min(size, kReserveBytesMax));
}
void reserve_body(Returned&, std::uint64_t) {}

void add_to_body(Delivered& into, amqp_bytes_t piece) {
  into.body.append(static_cast<const char*>(piece.bytes), piece.len);
}
void add_to_body(Returned&, amqp_bytes_t) {}

Delivered delivered_by(const auto& method) {
  Delivered delivered{};
  delivered.tag = method.delivery_tag;
  delivered.redelivered = method.redelivered != 0;
  delivered.routing_key = text_of(method.routing_key);
  return delivered;
}

}  // namespace

void Assembly::begin(const amqp_basic_deliver_t& method) {
  message_ = delivered_by(method);
  missing_.reset();
}

void Assembly::begin(const amqp_basic_get_ok_t& method) {
  message_ = delivered_by(method);
  missing_.reset();
}

void Assembly::begin(const amqp_basic_return_t& method) {
  Returned returned{};
  returned.routing_key = text_of(method.routing_key);
  returned.reply_text = text_of(method.reply_text);
  returned.reply_code = method.reply_code;
  message_ = std::move(returned);
  missing_.reset();
}

std::optional<Assembly::Whole> Assembly::add(const amqp_frame_t& frame) {
  if (!message_) throw ConnectionLost{"the broker sent content that it had not announced"};
  if (frame.frame_type == AMQP_FRAME_HEADER) {
    const auto& properties = *static_cast<const amqp_basic_properties_t*>(frame.payload.properties.decoded);
    missing_ = frame.payload.properties.body_size;
    std::visit(
        [&](auto& message) {
          read_properties(properties, message);
          reserve_body(message, *missing_);
        },
        *message_);
    return whole_if_complete();
  }
  const amqp_bytes_t piece = frame.payload.body_fragment;
  if (!missing_ || piece.len > *missing_)
    throw ConnectionLost{"the broker sent a longer body than it had announced"};
  *missing_ -= piece.len;
  std::visit([&](auto& message) { add_to_body(message, piece); }, *message_);
  return whole_if_complete();
}

std::optional<Assembly::Whole> Assembly::whole_if_complete() {
  if (*missing_ > 0) return std::nullopt;
  missing_.reset();
  return std::exchange(message_, std::nullopt);
}

}  // namespace remotist::amqp
