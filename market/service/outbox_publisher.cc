#include "market/service/outbox_publisher.h"

#include <atomic>
#include <signal.h>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/amqp/publisher.h"
#include "core/amqp/queues.h"
#include "core/log.h"
#include "core/threads.h"
#include "market/store/outbox.h"

namespace remotist::market {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBatchMax = 500;
constexpr auto kPublishTime = 10s;
// Longer than publishing may take, so that a live publisher's claims never run out under it.
constexpr auto kClaimTime = 30s;
constexpr auto kPollTime = 500ms;
constexpr auto kPauseAfterFault = 250ms;
constexpr auto kDepthTime = 5s;
// A broker that is connected, not blocked, and has confirmed nothing for so long has lost the queue behind
// its name.
constexpr auto kStuckTime = 15s;

amqp::Address address_of(const std::string& url) {
  auto address = amqp::Address::parse(url);
  if (!address) throw std::invalid_argument{address.refusal().detail};
  return *address;
}

amqp::Message message_of(const OutboxMessage& row) {
  return {.exchange = {},
          .routing_key = row.routing_key,
          .body = row.body,
          .message_id = row.message_id,
          .request_id = row.request_id,
          .persistent = true,
          .mandatory = row.mandatory};
}

}  // namespace

class OutboxPublisher::Loop {
 public:
  Loop(const std::string& database_url, const std::string& amqp_url, Metrics& metrics, Health& health)
      : db_(database_url),
        address_(address_of(amqp_url)),
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
        report();
      } catch (const std::exception& fault) {
        // The database is away, mostly: what was claimed comes back when the claim runs out.
        log::warn("outbox_fault", {{"what", fault.what()}});
        publisher_.idle(amqp::Clock::now() + kPauseAfterFault);
      }
    }
  }

  std::size_t publish_batch() {
    const auto rows = claim_outbox(db_, kBatchMax, kClaimTime);
    if (rows.empty()) return 0;
    std::vector<amqp::Message> messages;
    messages.reserve(rows.size());
    for (const auto& row : rows) messages.push_back(message_of(row));
    const auto fates = publisher_.publish(messages, amqp::Clock::now() + kPublishTime);

    std::vector<std::int64_t> confirmed;
    std::vector<std::int64_t> again;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      (fates[i] == amqp::Fate::confirmed ? confirmed : again).push_back(rows[i].id);
    }
    metrics_.outbox_published.Increment(static_cast<double>(confirmed.size()));
    delete_outbox(db_, confirmed);
    if (!again.empty()) {
      log::warn("outbox_not_confirmed", {{"messages", again.size()}});
      release_outbox(db_, again);
      if (confirmed.empty()) publisher_.idle(amqp::Clock::now() + kPauseAfterFault);
    }
    watch_for_stuck_queue(rows, !confirmed.empty());
    return rows.size();
  }

  // RabbitMQ writes the list of its quorum queues to disk some hundred milliseconds after it has confirmed a
  // declaration. Killed between the two it comes back with a queue that exists and never answers. Its
  // messages are hints, so it may be thrown away: the rows are still here, and the sweep repeats what was
  // confirmed.
  void watch_for_stuck_queue(const std::vector<OutboxMessage>& rows, bool confirmed) {
    const auto state = publisher_.state();
    const auto now = amqp::Clock::now();
    if (confirmed || !state.connected || state.blocked) {
      answered_at_ = now;
    } else if (now - answered_at_ > kStuckTime && rows.front().routing_key == amqp::kJobsReady) {
      log::error("queue_stuck", {{"queue", amqp::kJobsReady}, {"action", "made anew"}});
      amqp::Connection connection{address_, {}};
      connection.delete_queue(amqp::kJobsReady);
      amqp::declare_queues(connection);
      answered_at_ = now;
    }
  }

  void report() {
    const auto state = publisher_.state();
    health_.broker_up = state.connected;
    metrics_.broker_up.Set(state.connected ? 1 : 0);
    metrics_.broker_blocked.Set(state.blocked ? 1 : 0);
    if (amqp::Clock::now() < depth_due_) return;
    depth_due_ = amqp::Clock::now() + kDepthTime;
    const auto depth = outbox_depth(db_);
    metrics_.outbox_waiting.Set(static_cast<double>(depth.waiting));
    metrics_.outbox_oldest_seconds.Set(depth.oldest_seconds);
  }

  pg::Session db_;
  const amqp::Address address_;
  amqp::Publisher publisher_;
  Metrics& metrics_;
  Health& health_;
  amqp::Clock::time_point depth_due_{};
  amqp::Clock::time_point answered_at_ = amqp::Clock::now();
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
