#include "market/service/assignment_sender.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "core/log.h"
#include "market/store/assignments.h"

namespace remotist::market {
namespace {

constexpr std::size_t kGroupMax = 500;

void close_all(const std::vector<AssignmentSender::Item>& items, std::string_view reason) {
  for (const auto& item : items) item.volunteer->close(websocket::CloseCode::going_away, reason);
}

}  // namespace

AssignmentSender::AssignmentSender(const std::string& database_url, std::chrono::milliseconds loss_mean,
                                   Metrics& metrics)
    : loss_mean_(loss_mean),
      metrics_(metrics),
      database_(database_url, 1, 1, {.durable = false, .by_index = true}) {}

void AssignmentSender::send(std::vector<Item> items) {
  {
    const std::lock_guard lock{mutex_};
    std::ranges::move(items, std::back_inserter(waiting_));
    if (waiting_.empty() || std::exchange(running_, true)) return;
  }
  if (database_.try_run([this](pg::Connection& db) { send_waiting(db); })) return;
  std::vector<Item> unsent;
  {
    const std::lock_guard lock{mutex_};
    running_ = false;
    unsent.swap(waiting_);
  }
  close_all(unsent, "this market stops");
}

std::vector<AssignmentSender::Item> AssignmentSender::take() {
  const std::lock_guard lock{mutex_};
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), kGroupMax));
  std::vector<Item> group{std::move_iterator{waiting_.begin()}, std::move_iterator{end}};
  waiting_.erase(waiting_.begin(), end);
  running_ = !group.empty();
  return group;
}

void AssignmentSender::send_waiting(pg::Connection& db) {
  for (auto group = take(); !group.empty(); group = take()) {
    try {
      send_group(db, group);
    } catch (const std::exception& fault) {
      log::warn("assignments_failed", {{"attempts", group.size()}, {"what", fault.what()}});
      close_all(group, "the database is away: connect again");
    }
  }
}

void AssignmentSender::send_group(pg::Connection& db, const std::vector<Item>& group) {
  std::vector<BegunAttempt> attempts;
  for (const auto& [volunteer, session, name] : group)
    attempts.push_back({session, volunteer->connection(), name});
  auto assignments = begin_assignments(db, attempts);
  std::map<std::shared_ptr<Volunteer>, std::vector<protocol::Assignment>> of_machine;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (!assignments[i]) continue;
    assignments[i]->loss_ms_mean = loss_mean_.count();
    of_machine[group[i].volunteer].push_back(*std::move(assignments[i]));
  }
  for (auto& [volunteer, some] : of_machine) {
    metrics_.attempts_assigned.Increment(static_cast<double>(some.size()));
    volunteer->assign(std::move(some));
  }
}

}  // namespace remotist::market
