// A database of a test's own, in the stack's PostgreSQL; dropped at the end.
#pragma once

#include <string>

namespace remotist::test {

class Database {
 public:
  enum class Schema { none, timescaledb, migrated };
  explicit Database(Schema schema = Schema::migrated);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const std::string& name() const { return name_; }
  const std::string& url() const { return url_; }

 private:
  std::string name_;
  std::string url_;
};

// A URL of the stack's PostgreSQL as the market's role, or as its superuser.
std::string database_url(const std::string& database, bool superuser = false);

// Runs one statement in a connection of its own.
void execute(const std::string& url, const std::string& statement);

// An account with that much money and a valid token, made without passwords.
struct TestAccount {
  std::string id;
  std::string token;
  std::string token_hash;
};
TestAccount make_account(const std::string& url, long long micro_credits);

// Fails the test case unless all ledger accounts sum to zero, every transfer does, and every stored balance
// is the sum of its entries.
void check_ledger(const std::string& url);

}  // namespace remotist::test
