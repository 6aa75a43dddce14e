// Consumes one queue in batches; acknowledges or requeues each message as the handler decides. Reconnects by
// itself.
//
// A message that was not acknowledged before its connection was lost is delivered again, to this consumer or
// another: the handler must be idempotent. The thread that calls run() owns the connection; state() is
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/amqp/message.h"
#include "core/amqp/reconnector.h"
#include "core/amqp/wake.h"

namespace remotist::amqp {

enum class Decision : std::uint8_t {
  ack,      // done with it, for good
  requeue,  // to be delivered again, at once
};

struct ConsumerOptions {
  ConnectionOptions connection{};
  Backoff::Bounds backoff{};  // between connections, and after a handler that threw
  std::string queue{};
  // Messages that are unacknowledged at a time, and so the most of a batch. Fewer spreads a short queue over
  // more consumers.
  std::uint16_t prefetch = 500;
};

class Consumer {
 public:
  // Gets what has arrived (at least one message, at most `prefetch`; never waits for more) and decides each,
  // in the same order. Must return within a heartbeat, or the connection may be lost and the batch delivered
  // again. When it throws, the whole batch is requeued, the exception logged, and the next batch comes after
  // a pause.
  using OnBatch = std::function<std::vector<Decision>(std::span<const Delivered>)>;

  Consumer(const Address& address, const ConsumerOptions& options, Topology topology);
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  // Runs until `stop` is requested. A batch that the handler has is finished and acknowledged first. Call it
  // once.
  void run(const OnBatch& on_batch, std::stop_token stop);

  ConnectionState state() const { return reconnector_.state(); }

 private:
  void collect(Clock::time_point deadline);
  void handle_batch(const OnBatch& on_batch);
  void answer(std::span<const Delivered> batch, std::span<const Decision> decisions);

  const std::string queue_;
  Wake wake_;
  Reconnector reconnector_;
  Backoff pauses_;
  Clock::time_point rest_until_{};
  std::vector<Delivered> waiting_;  // delivered and not yet handed on: at most the prefetch
};

}  // namespace remotist::amqp
