// That nothing happened: what the stack's market held before a test case is what it holds after it.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace remotist::test {

// One line for each table of a database: its rows' number and their digest. The outbox is left out, because
// it is emptied all the time.
std::string fingerprint(const std::string& database_url);

// Fails the test case at its end unless the database has the same content as at the beginning, every market
// of the stack is the same process, and each of them answers.
class Untouched {
 public:
  Untouched();
  ~Untouched();
  Untouched(const Untouched&) = delete;
  Untouched& operator=(const Untouched&) = delete;

 private:
  std::string before_;
  std::vector<pid_t> markets_;
};

// The process of each market; fails the test case unless each of them answers.
std::vector<pid_t> living_markets();

}  // namespace remotist::test
