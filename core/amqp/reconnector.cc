#include "core/amqp/reconnector.h"

#include <algorithm>
#include <utility>

#include "core/amqp/socket.h"
#include "core/log.h"

namespace remotist::amqp {

Reconnector::Reconnector(Address address, ConnectionOptions options, Backoff::Bounds backoff,
                         Topology topology, Wake& wake)
    : address_(std::move(address)),
      options_(std::move(options)),
      backoff_(backoff),
      steady_after_(backoff.most),
      topology_(std::move(topology)),
      wake_(wake) {
  options_.wake = &wake_;
}

Reconnector::~Reconnector() = default;

Connection* Reconnector::get(Clock::time_point deadline) {
  for (;;) {
    if (Connection* const connection = get_now()) return connection;
    if (wake_.stopped() || Clock::now() >= deadline) return nullptr;
    sleep_until(wake_, std::min(try_at_, deadline));
  }
}

Connection* Reconnector::get_now() {
  if (!connection_ && !wake_.stopped() && Clock::now() >= try_at_) try_to_connect();
  return current();
}

void Reconnector::try_to_connect() {
  const auto began = Clock::now();
  try {
    connection_.emplace(address_, options_);
    topology_(*connection_);
  } catch (const std::exception& failure) {
    connection_.reset();
    if (wake_.stopped()) return;
    const auto pause = backoff_.next();
    try_at_ = Clock::now() + pause;
    log::warn("amqp_connect_failed", {{"broker", address_.shown()},
                                      {"name", options_.name},
                                      {"why", failure.what()},
                                      {"retry_ms", pause.count()}});
    return;
  }
  connected_at_ = Clock::now();
  connected_ = true;
  blocked_ = connection_->blocked();
  ++connections_;
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(connected_at_ - began);
  log::info("amqp_connected", {{"broker", address_.shown()}, {"name", options_.name}, {"ms", took.count()}});
}

void Reconnector::lose(std::string_view why) {
  if (!connection_) return;
  connection_.reset();
  connected_ = false;
  blocked_ = false;
  // A connection that is lost as soon as it is made is no reason to hurry.
  if (Clock::now() - connected_at_ >= steady_after_) backoff_.reset();
  const auto pause = backoff_.next();
  try_at_ = Clock::now() + pause;
  if (wake_.stopped()) return;
  log::warn(
      "amqp_lost",
      {{"broker", address_.shown()}, {"name", options_.name}, {"why", why}, {"retry_ms", pause.count()}});
}

std::optional<std::vector<Event>> Reconnector::wait(Clock::time_point deadline) {
  try {
    auto events = connection_->wait(deadline);
    if (const bool blocked = connection_->blocked(); blocked != blocked_) {
      blocked_ = blocked;
      log::warn(blocked ? "amqp_blocked" : "amqp_unblocked",
                {{"broker", address_.shown()}, {"name", options_.name}});
    }
    return events;
  } catch (const Fault& fault) {
    lose(fault.what());
    return std::nullopt;
  }
}

void Reconnector::close() noexcept {
  if (connection_) connection_->close();
  connection_.reset();
  connected_ = false;
  blocked_ = false;
}

ConnectionState Reconnector::state() const {
  const std::uint64_t connections = connections_;
  return {.connected = connected_, .blocked = blocked_, .reconnects = connections == 0 ? 0 : connections - 1};
}

}  // namespace remotist::amqp
