#include "core/amqp/connection.h"

#include <array>
#include <stdexcept>

#include "core/amqp/channel.h"

namespace remotist::amqp {
namespace {

constexpr std::size_t kFlushBytes = 32 << 10;  // so that a batch is neither a packet a message nor sent late
constexpr std::chrono::seconds kGoodbye{1};

amqp_bytes_t queue_name(const std::string& queue) {
  if (queue.size() > kShortStringBytesMax) {
    throw std::length_error{"the queue's name is longer than " + std::to_string(kShortStringBytesMax) +
                            " bytes"};
  }
  return bytes_of(queue);
}

amqp_table_entry_t entry_of(std::string_view key, std::string_view text) {
  amqp_table_entry_t entry{};
  entry.key = bytes_of(key);
  entry.value.kind = AMQP_FIELD_KIND_UTF8;
  entry.value.value.bytes = bytes_of(text);
  return entry;
}

amqp_table_entry_t entry_of(std::string_view key, std::int64_t number) {
  amqp_table_entry_t entry{};
  entry.key = bytes_of(key);
  entry.value.kind = AMQP_FIELD_KIND_I64;
  entry.value.value.i64 = number;
  return entry;
}

}  // namespace

struct Connection::Impl {
  Channel channel;
  std::uint64_t last_tag = 0;
  bool confirms = false;
  bool closed = false;
};

Connection::Connection(const Address& address, const ConnectionOptions& options)
    : impl_(new Impl{.channel{address, options}}) {}

Connection::~Connection() {
  if (impl_->closed) return;
  try {
    impl_->channel.send_close();
  } catch (const std::exception&) {
    // It is lost already: there is nobody to tell.
  }
}

void Connection::close() noexcept {
  impl_->closed = true;
  try {
    impl_->channel.close(Clock::now() + kGoodbye);
  } catch (const std::exception&) {
    // As in the destructor.
  }
}

void Connection::declare_quorum_queue(const std::string& queue, std::chrono::milliseconds consumer_timeout) {
  std::array arguments{entry_of("x-queue-type", "quorum"), entry_of("x-delivery-limit", -1),
                       entry_of("x-consumer-timeout", consumer_timeout.count())};
  amqp_queue_declare_t fields{};
  fields.queue = queue_name(queue);
  fields.durable = 1;
  fields.arguments = {static_cast<int>(arguments.size()), arguments.data()};
  impl_->channel.call<amqp_queue_declare_ok_t>(AMQP_QUEUE_DECLARE_METHOD, &fields,
                                               AMQP_QUEUE_DECLARE_OK_METHOD);
}

void Connection::declare_private_queue(const std::string& queue) {
  std::array arguments{entry_of("x-queue-type", "classic")};
  amqp_queue_declare_t fields{};
  fields.queue = queue_name(queue);
  fields.exclusive = 1;
  fields.auto_delete = 1;
  fields.arguments = {static_cast<int>(arguments.size()), arguments.data()};
  impl_->channel.call<amqp_queue_declare_ok_t>(AMQP_QUEUE_DECLARE_METHOD, &fields,
                                               AMQP_QUEUE_DECLARE_OK_METHOD);
}

void Connection::delete_queue(const std::string& queue) {
  amqp_queue_delete_t fields{};
  fields.queue = queue_name(queue);
  impl_->channel.call<amqp_queue_delete_ok_t>(AMQP_QUEUE_DELETE_METHOD, &fields, AMQP_QUEUE_DELETE_OK_METHOD);
}

void Connection::select_confirms() {
  amqp_confirm_select_t fields{};
  impl_->channel.call<amqp_confirm_select_ok_t>(AMQP_CONFIRM_SELECT_METHOD, &fields,
                                                AMQP_CONFIRM_SELECT_OK_METHOD);
  impl_->confirms = true;
}

bool Connection::may_publish() const {
  return !impl_->channel.blocked() && impl_->channel.unsent_bytes() < kUnsentBytesMax;
}

bool Connection::blocked() const {
  return impl_->channel.blocked();
}

std::uint64_t Connection::publish(const Message& message) {
  if (!may_publish()) throw std::logic_error{"publish() without may_publish()"};
  require_sendable(message);
  amqp_basic_publish_t fields{};
  fields.exchange = bytes_of(message.exchange);
  fields.routing_key = bytes_of(message.routing_key);
  fields.mandatory = message.mandatory ? 1 : 0;

  amqp_basic_properties_t properties{};
  properties._flags = AMQP_BASIC_DELIVERY_MODE_FLAG;
  properties.delivery_mode = message.persistent ? AMQP_DELIVERY_PERSISTENT : AMQP_DELIVERY_NONPERSISTENT;
  if (!message.message_id.empty()) {
    properties._flags |= AMQP_BASIC_MESSAGE_ID_FLAG;
    properties.message_id = bytes_of(message.message_id);
  }
  if (!message.request_id.empty()) {
    properties._flags |= AMQP_BASIC_CORRELATION_ID_FLAG;
    properties.correlation_id = bytes_of(message.request_id);
  }
  const std::uint64_t tag = impl_->confirms ? ++impl_->last_tag : 0;
  amqp_table_entry_t publish_tag = entry_of(kPublishTagHeader, static_cast<std::int64_t>(tag));
  if (message.mandatory) {
    properties._flags |= AMQP_BASIC_HEADERS_FLAG;
    properties.headers = {1, &publish_tag};
  }
  impl_->channel.send(AMQP_BASIC_PUBLISH_METHOD, &fields);
  impl_->channel.send_content(properties, message.body);
  if (impl_->channel.unsent_bytes() >= kFlushBytes) impl_->channel.flush();
  return tag;
}

std::string Connection::consume(const std::string& queue, std::uint16_t prefetch) {
  // AMQP reads 0 as "without limit", and an unlimited broker can fill our memory.
  if (prefetch == 0) throw std::invalid_argument{"the prefetch must be at least 1"};
  amqp_basic_qos_t limit{};
  limit.prefetch_count = prefetch;
  impl_->channel.call<amqp_basic_qos_ok_t>(AMQP_BASIC_QOS_METHOD, &limit, AMQP_BASIC_QOS_OK_METHOD);
  amqp_basic_consume_t fields{};
  fields.queue = queue_name(queue);
  return text_of(
      impl_->channel
          .call<amqp_basic_consume_ok_t>(AMQP_BASIC_CONSUME_METHOD, &fields, AMQP_BASIC_CONSUME_OK_METHOD)
          .consumer_tag);
}

void Connection::ack(std::uint64_t tag, bool multiple) {
  amqp_basic_ack_t fields{};
  fields.delivery_tag = tag;
  fields.multiple = multiple ? 1 : 0;
  impl_->channel.send(AMQP_BASIC_ACK_METHOD, &fields);
}

void Connection::nack(std::uint64_t tag, bool multiple, bool requeue) {
  amqp_basic_nack_t fields{};
  fields.delivery_tag = tag;
  fields.multiple = multiple ? 1 : 0;
  fields.requeue = requeue ? 1 : 0;
  impl_->channel.send(AMQP_BASIC_NACK_METHOD, &fields);
}

std::optional<Delivered> Connection::get(const std::string& queue) {
  amqp_basic_get_t fields{};
  fields.queue = queue_name(queue);
  const amqp_method_t answer = impl_->channel.call(AMQP_BASIC_GET_METHOD, &fields,
                                                   {AMQP_BASIC_GET_OK_METHOD, AMQP_BASIC_GET_EMPTY_METHOD});
  if (answer.id == AMQP_BASIC_GET_EMPTY_METHOD) return std::nullopt;
  return impl_->channel.read_got(*static_cast<const amqp_basic_get_ok_t*>(answer.decoded));
}

std::vector<Event> Connection::wait(Clock::time_point deadline) {
  return impl_->channel.wait(deadline, kEventsMax);
}

}  // namespace remotist::amqp
