// A market of a test's own, with settings and a database of its own, on the stack's PostgreSQL and RabbitMQ;
// killed at the end.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <sys/types.h>

#include "tests/support/database.h"

namespace remotist::test {

class OwnMarket {
 public:
  // The names without REMOTIST_MARKET_. Returns when it answers; fails the test case when it does not.
  explicit OwnMarket(const std::map<std::string, std::string>& settings = {});
  ~OwnMarket();
  OwnMarket(const OwnMarket&) = delete;
  OwnMarket& operator=(const OwnMarket&) = delete;

  const std::string& url() const { return url_; }
  const std::string& database_url() const { return database_.url(); }
  void signal(int number) const;
  // Whether it ends by itself within half a minute.
  bool ends();

 private:
  Database database_;
  std::string blob_dir_;
  std::string url_;
  pid_t pid_ = -1;
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
