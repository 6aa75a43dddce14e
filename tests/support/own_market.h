// A market of a test's own, with settings and a database of its own, on the stack's PostgreSQL and RabbitMQ;
// killed at the end.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "tests/support/database.h"
#include "tests/support/own_process.h"

namespace remotist::test {

class OwnMarket {
 public:
  // The names without REMOTIST_MARKET_. Returns when it answers; fails the test case when it does not.
  explicit OwnMarket(const std::map<std::string, std::string>& settings = {});
  // Another market on the same database.
  OwnMarket(const OwnMarket& first, const std::map<std::string, std::string>& settings);
  ~OwnMarket();
  OwnMarket& operator=(const OwnMarket&) = delete;

  const std::string& url() const { return url_; }
  const std::string& socket_url() const { return socket_url_; }
  const std::string& database_url() const { return database_->url(); }
  void signal(int number) const { process_->signal(number); }
  // Whether it ends by itself within half a minute.
  bool ends() { return process_->ends(); }
  void kill() { process_->kill(); }
  // After kill() or ends(): with the same settings, on the same ports.
  void start();

 private:
  std::shared_ptr<Database> database_;
  std::string blob_dir_;
  bool owns_blobs_;
  std::string url_;
  std::string socket_url_;
  std::map<std::string, std::string> settings_;
  std::optional<OwnProcess> process_;
};

// A worker on that market's database; killed at the end.
class OwnWorker {
 public:
  // The names without REMOTIST_WORKER_. By default it looks often, and waits for nobody long.
  explicit OwnWorker(const std::string& database_url, std::map<std::string, std::string> settings = {});
  OwnProcess& process() { return *process_; }
  // After a kill: with the same settings.
  void start();

 private:
  std::map<std::string, std::string> settings_;
  std::optional<OwnProcess> process_;
};

// Nobody reads or writes that table while this lives, so whoever needs it waits.
class LockedTable {
 public:
  LockedTable(const std::string& database_url, const std::string& table);
  ~LockedTable();
  LockedTable(const LockedTable&) = delete;
  LockedTable& operator=(const LockedTable&) = delete;

 private:
  struct Transaction;
  std::unique_ptr<Transaction> transaction_;
};

}  // namespace remotist::test
