#include "core/amqp/publisher.h"

#include <algorithm>
#include <utility>

#include "core/amqp/socket.h"

namespace remotist::amqp {
namespace {

Topology with_confirms(Topology topology) {
  return [topology = std::move(topology)](Connection& connection) {
    if (topology) topology(connection);
    connection.select_confirms();
  };
}

}  // namespace

Publisher::Publisher(const Address& address, const PublisherOptions& options, Topology topology)
    : unconfirmed_max_(options.unconfirmed_max),
      reconnector_(address, options.connection, options.backoff, with_confirms(std::move(topology)), wake_) {}

Publisher::~Publisher() {
  reconnector_.close();
}

std::vector<PublishResult> Publisher::publish(std::span<const Message> messages, Clock::time_point deadline) {
  for (const Message& message : messages) require_sendable(message);
  Batch batch;
  batch.messages = messages;
  batch.results.assign(messages.size(), PublishResult::unknown);
  // A connection that died since the last call is found before anything is entrusted to it.
  if (reconnector_.current() != nullptr) pump(Clock::time_point{}, batch);

  while (batch.next < messages.size() || batch.open > 0) {
    if (wake_.stopped() || Clock::now() >= deadline) break;
    Connection* const connection = reconnector_.get(deadline);
    if (connection == nullptr) break;
    send_what_fits(*connection, batch);
    pump(deadline, batch);
  }

  // Nothing more could be sent on a connection whose window is full of what nobody will ever answer.
  if (reconnector_.current() != nullptr && !reconnector_.current()->blocked() &&
      confirms_.open() >= unconfirmed_max_) {
    reconnector_.lose("the broker answers no publish");
    forget_connection(batch);
  }
  return std::move(batch.results);
}

void Publisher::idle(Clock::time_point deadline) {
  Batch none;
  while (!wake_.stopped() && !wake_.consume_nudge() && Clock::now() < deadline) {
    if (reconnector_.get_now() == nullptr) {
      sleep_until(wake_, std::min(reconnector_.next_attempt(), deadline));
    } else {
      pump(deadline, none);
    }
  }
}

void Publisher::send_what_fits(Connection& connection, Batch& batch) {
  try {
    while (batch.next < batch.messages.size() && connection.may_publish() &&
           confirms_.open() < unconfirmed_max_) {
      const std::size_t index = batch.next++;
      const std::uint64_t tag = connection.publish(batch.messages[index]);
      confirms_.published(tag);
      ++batch.open;
      if (!batch.first_tag) {
        batch.first_tag = tag;
        batch.first_index = index;
      }
    }
  } catch (const Fault& fault) {
    reconnector_.lose(fault.what());
    forget_connection(batch);
  }
}

void Publisher::pump(Clock::time_point deadline, Batch& batch) {
  if (reconnector_.current() == nullptr) return;
  const auto events = reconnector_.wait(deadline);
  if (!events) return forget_connection(batch);
  for (const Event& event : *events) {
    if (const auto* confirmed = std::get_if<Confirmed>(&event)) {
      settle(confirms_.confirmed(confirmed->tag, confirmed->multiple), batch);
    } else if (const auto* refused = std::get_if<Refused>(&event)) {
      settle(confirms_.refused(refused->tag, refused->multiple), batch);
    } else if (const auto* returned = std::get_if<Returned>(&event)) {
      confirms_.returned(returned->tag);
    }
  }
}

void Publisher::settle(const std::vector<Confirms::Settled>& settled, Batch& batch) {
  for (const auto& [tag, result] : settled) {
    if (!batch.first_tag || tag < *batch.first_tag) continue;  // an earlier call gave up waiting for it
    batch.results[batch.first_index + (tag - *batch.first_tag)] = result;
    --batch.open;
  }
}

// What was sent on it and not answered stays unknown; tags begin again at 1.
void Publisher::renew() {
  if (reconnector_.current() == nullptr) return;
  reconnector_.lose("to declare the queues again");
  Batch none;
  forget_connection(none);
}

void Publisher::forget_connection(Batch& batch) {
  confirms_ = {};
  batch.open = 0;
  batch.first_tag.reset();
}

}  // namespace remotist::amqp
