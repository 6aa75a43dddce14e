#include "core/amqp/consumer.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/log.h"

namespace remotist::amqp {
namespace {

Topology with_consumer(Topology topology, std::string queue, std::uint16_t prefetch) {
  return [topology = std::move(topology), queue = std::move(queue), prefetch](Connection& connection) {
    if (topology) topology(connection);
    connection.consume(queue, prefetch);
  };
}

}  // namespace

Consumer::Consumer(const Address& address, const ConsumerOptions& options, Topology topology)
    : queue_(options.queue),
      reconnector_(address, options.connection, options.backoff,
                   with_consumer(std::move(topology), options.queue, options.prefetch), wake_),
      pauses_(options.backoff) {
  waiting_.reserve(options.prefetch);
}

void Consumer::run(const OnBatch& on_batch, std::stop_token stop) {
  const std::stop_callback stopping{stop, [this] { wake_.stop(); }};
  while (!wake_.stopped()) {
    if (reconnector_.get(Clock::time_point::max()) == nullptr) break;
    const bool resting = Clock::now() < rest_until_;
    collect(resting ? rest_until_ : waiting_.empty() ? Clock::time_point::max() : Clock::time_point{});
    if (!waiting_.empty() && Clock::now() >= rest_until_ && !wake_.stopped()) handle_batch(on_batch);
  }
  reconnector_.close();
}

// Requires a connection. Without it afterwards, what it had delivered is the broker's again.
void Consumer::collect(Clock::time_point deadline) {
  auto events = reconnector_.wait(deadline);
  if (!events) return waiting_.clear();
  for (Event& event : *events) {
    if (auto* delivered = std::get_if<Delivered>(&event)) {
      waiting_.push_back(std::move(*delivered));
    } else if (std::holds_alternative<ConsumerCancelled>(event)) {
      reconnector_.lose("the broker ended the consumer of " + queue_);
      return waiting_.clear();
    }
  }
}

void Consumer::handle_batch(const OnBatch& on_batch) {
  const std::vector<Delivered> batch = std::exchange(waiting_, {});
  std::vector<Decision> decisions;
  try {
    decisions = on_batch(batch);
    if (decisions.size() != batch.size()) throw std::logic_error{"the handler did not decide every message"};
    pauses_.reset();
  } catch (const std::exception& failure) {
    const auto pause = pauses_.next();
    rest_until_ = Clock::now() + pause;
    decisions.assign(batch.size(), Decision::requeue);
    log::error("amqp_batch_failed", {{"queue", queue_},
                                     {"messages", batch.size()},
                                     {"why", failure.what()},
                                     {"pause_ms", pause.count()}});
  }
  answer(batch, decisions);
}

// A run of equal decisions is one frame: everything before it is answered, so that `multiple` reaches just
// the run.
void Consumer::answer(std::span<const Delivered> batch, std::span<const Decision> decisions) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (i + 1 < batch.size() && decisions[i + 1] == decisions[i]) continue;
    if (decisions[i] == Decision::ack) {
      reconnector_.current()->ack(batch[i].tag, true);
    } else {
      reconnector_.current()->nack(batch[i].tag, true);
    }
  }
}

}  // namespace remotist::amqp
