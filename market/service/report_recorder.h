// Commits what machines report in groups: one commit's wait for the disk is shared by everything that came
// while the one before it waited. Each report stands or falls alone.
//
// A database that is away is waited for: reports are kept until it has answered.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/pg/session.h"
#include "core/result.h"
#include "market/service/metrics.h"
#include "market/store/outcomes.h"

namespace remotist::market {

class ReportRecorder {
 public:
  enum class Fate { recorded, stale, refused };
  // Called once, on the recorder's thread, after the commit; must be quick. With Fate::refused it is told
  // why.
  using Told = std::move_only_function<void(Fate, const std::optional<Refusal>&)>;

  // `committed` is called after each group: there is something for the publisher.
  ReportRecorder(const std::string& database_url, std::function<void()> committed, Metrics& metrics);
  // Records what is queued if the database answers, and drops it if not: nobody was told that it counts.
  ~ReportRecorder();
  ReportRecorder(const ReportRecorder&) = delete;
  ReportRecorder& operator=(const ReportRecorder&) = delete;

  // Any thread. Whoever reports bounds how much.
  void record(Report report, Told told);

 private:
  struct Item {
    Report report;
    Told told;
  };
  void run(const std::stop_token& stop);
  std::vector<Item> take(const std::stop_token& stop);
  void commit(std::vector<Item> items, const std::stop_token& stop);
  // False when the database is away.
  bool try_commit(std::vector<Item>& items);
  void commit_each(std::vector<Item>& items);
  void commit_alone(Item& item);

  pg::Session db_;
  const std::function<void()> committed_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Item> queue_;
  std::jthread thread_;  // last: it is joined before the rest goes
};

}  // namespace remotist::market
