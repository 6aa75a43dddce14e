// Takes messages from one queue in batches and answers each as the handler decides, across lost connections.
//
// A message that was not acknowledged before its connection was lost comes again, to us or to another: the
// handler must be idempotent. The thread that calls run() owns the connection; state() is for any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/amqp/link.h"
#include "core/amqp/message.h"
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
  // Messages that the broker entrusts to us at a time, also the most that a batch can have. Fewer spreads a
  // short queue over more consumers.
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

  // Until the token asks to stop, which ends it at once but for a batch in the handler's hands: that one is
  // finished and acknowledged. Call it once.
  void run(const OnBatch& on_batch, std::stop_token stop);

  LinkState state() const { return link_.state(); }

 private:
  void collect(Clock::time_point deadline);
  void handle_batch(const OnBatch& on_batch);
  void answer(std::span<const Delivered> batch, std::span<const Decision> decisions);

  const std::string queue_;
  Wake wake_;
  Link link_;
  Backoff pauses_;
  Clock::time_point rest_until_{};
  std::vector<Delivered> waiting_;  // delivered and not yet handed on: at most the prefetch
};

}  // namespace remotist::amqp
