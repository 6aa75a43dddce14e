#include "market/service/outbox_publisher.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <signal.h>
#include <thread>
#include <vector>

#include "core/amqp/publisher.h"
#include "core/amqp/queues.h"
#include "core/log.h"
#include "core/queue_messages.h"
#include "core/store/outbox.h"
#include "core/threads.h"

namespace remotist::market {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBatchMax = 500;
constexpr auto kPublishTime = 10s;
// Longer than publishing takes. If connecting takes longer and a claim expires, a message is only sent twice.
constexpr auto kClaimTime = 60s;
constexpr auto kPollTime = 500ms;
constexpr auto kPublishRetryDelay = 250ms;
constexpr auto kDepthTime = 5s;
constexpr int kDeadBatches = 3;
constexpr auto kDeadTime = 20s;

amqp::Message message_of(const store::OutboxMessage& row) {
  return {.exchange = {},
          .routing_key = row.routing_key,
          .body = row.body,
          .message_id = row.message_id,
          .request_id = row.request_id,
          .persistent = true,
          .mandatory = row.mandatory};
}

// A message to publish, and the outbox rows that it covers.
struct OutgoingMessage {
  amqp::Message message;
  std::vector<std::int64_t> rows;
};

// The job of a message to the workers that names one job and nothing else.
std::optional<JobId> only_job_of(const store::OutboxMessage& row) {
  if (row.routing_key != amqp::kJobsReady) return std::nullopt;
  const auto ready = queue::read_ready(row.body);
  if (!ready || ready->jobs.size() != 1 || !ready->machine_sessions.empty()) return std::nullopt;
  return ready->jobs.front();
}

// One message for each row, but one for all those with an only_job_of().
std::vector<OutgoingMessage> outgoing_of(const std::vector<store::OutboxMessage>& rows) {
  std::vector<OutgoingMessage> outgoing;
  queue::Ready ready;
  std::optional<std::size_t> together;
  for (const auto& row : rows) {
    if (const auto job = only_job_of(row)) {
      ready.jobs.push_back(*job);
      if (together) {
        outgoing[*together].rows.push_back(row.id);
        continue;
      }
      together = outgoing.size();
    }
    outgoing.push_back({message_of(row), {row.id}});
  }
  if (ready.jobs.size() > 1) outgoing[*together].message.body = queue::text_of(ready);
  return outgoing;
}

}  // namespace

class OutboxPublisher::Loop {
 public:
  Loop(const std::string& database_url, const std::string& amqp_url, Metrics& metrics, Health& health)
      : db_(database_url,
            {.durable = false,
             .by_index = true}),  // a claim or a deletion that a crash loses only repeats a hint
        address_(amqp::Address::of(amqp_url)),
        publisher_(address_, {}, amqp::declare_queues),
        metrics_(metrics),
        health_(health) {
    const SignalsBlocked blocked;
    thread_ = std::thread{[this] { run(); }};
  }

  ~Loop() {
    stopping_ = true;
    publisher_.stop();
    thread_.join();
  }

  void wake() noexcept { publisher_.nudge(); }

 private:
  void run() {
    while (!stopping_) {
      try {
        if (publish_batch() < kBatchMax) publisher_.idle(amqp::Clock::now() + kPollTime);
        measure_depth();
      } catch (const std::exception& fault) {
        // Mostly a lost database: claimed messages become claimable again when the claim expires.
        log::warn("outbox_fault", {{"why", fault.what()}});
        publisher_.idle(amqp::Clock::now() + kPublishRetryDelay);
      }
      report_broker();
    }
  }

  std::size_t publish_batch() {
    // Claims nothing while the broker cannot accept messages.
    const auto state = publisher_.state();
    if (!state.connected || state.blocked) return 0;
    const auto claim = store::claim_outbox(db_, kBatchMax, kClaimTime);
    if (claim.messages.empty()) {
      silent_batches_ = 0;
      return 0;
    }
    const auto outgoing = outgoing_of(claim.messages);
    std::vector<amqp::Message> messages;
    for (const auto& each : outgoing) messages.push_back(each.message);
    const auto results = publisher_.publish(messages, amqp::Clock::now() + kPublishTime);

    std::vector<std::int64_t> done;
    std::vector<std::int64_t> again;
    std::size_t returned = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto& each = outgoing[i];
      const bool came_back = results[i] == amqp::PublishResult::returned;
      // A market that has stopped needs no message: its machines get the same state with their next hello.
      const bool pointless = came_back && each.message.routing_key.starts_with(amqp::kMarketQueuePrefix);
      if (came_back && !pointless) returned += each.rows.size();
      auto& into = results[i] == amqp::PublishResult::confirmed || pointless ? done : again;
      into.insert(into.end(), each.rows.begin(), each.rows.end());
    }
    metrics_.outbox_published.Increment(static_cast<double>(done.size()));
    store::delete_outbox(db_, claim, done);
    if (!again.empty()) {
      log::warn("outbox_not_confirmed", {{"messages", again.size()}, {"returned", returned}});
      store::postpone_outbox(db_, claim, again);
      // A queue was deleted: a new connection declares it again.
      if (returned > 0) publisher_.renew();
    }
    const bool silent = std::ranges::all_of(
        results, [](amqp::PublishResult result) { return result == amqp::PublishResult::unknown; });
    replace_dead_queue(claim, silent);
    return claim.messages.size();
  }

  // RabbitMQ writes the list of its quorum queues to disc some hundred milliseconds after it has confirmed a
  // declaration. Killed between the two it comes back with a queue that exists and never answers, and only
  // deleting it helps. The queue is taken for dead when all batches of kDeadTime got no answer from a broker
  // that was connected and not blocked. Its messages were hints: the workers' scan finds the jobs that they
  // named.
  void replace_dead_queue(const store::OutboxClaim& claim, bool silent) {
    const auto state = publisher_.state();
    const auto now = amqp::Clock::now();
    if (!silent || !state.connected || state.blocked) {
      silent_batches_ = 0;
      return;
    }
    if (silent_batches_++ == 0) silent_since_ = now;
    const bool dead = silent_batches_ >= kDeadBatches && now - silent_since_ >= kDeadTime;
    if (!dead || claim.messages.front().routing_key != amqp::kJobsReady) return;
    log::error("queue_dead", {{"queue", amqp::kJobsReady}, {"action", "made anew"}});
    amqp::Connection connection{address_, {}};
    connection.delete_queue(amqp::kJobsReady);
    amqp::declare_queues(connection);
    silent_batches_ = 0;
  }

  void report_broker() {
    const auto state = publisher_.state();
    health_.broker_up = state.connected;
    metrics_.broker_up.Set(state.connected ? 1 : 0);
    metrics_.broker_blocked.Set(state.blocked ? 1 : 0);
  }

  void measure_depth() {
    if (amqp::Clock::now() < depth_due_) return;
    depth_due_ = amqp::Clock::now() + kDepthTime;
    const auto depth = store::outbox_depth(db_);
    metrics_.outbox_waiting.Set(static_cast<double>(depth.waiting));
    metrics_.outbox_oldest_seconds.Set(depth.oldest_seconds);
  }

  pg::Connection db_;
  const amqp::Address address_;
  amqp::Publisher publisher_;
  Metrics& metrics_;
  Health& health_;
  amqp::Clock::time_point depth_due_{};
  int silent_batches_ = 0;  // one after the other, without any answer
  amqp::Clock::time_point silent_since_{};
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

OutboxPublisher::OutboxPublisher(const std::string& database_url, const std::string& amqp_url,
                                 Metrics& metrics, Health& health)
    : loop_(std::make_unique<Loop>(database_url, amqp_url, metrics, health)) {}
OutboxPublisher::~OutboxPublisher() = default;
void OutboxPublisher::wake() noexcept {
  loop_->wake();
}

}  // namespace remotist::market
