// Machines and attempts as a worker and an agent would make them, written straight into the database.
#pragma once

#include <string>

#include "tests/support/database.h"

namespace remotist::test {

struct TestMachine {
  std::string id;
  std::string token;
};
// A machine of that account, with a token.
TestMachine make_machine(const std::string& url, const TestAccount& account);

struct TestAttempt {
  int number;
  std::string token;
  std::string header;  // "Remotist-Attempt: …"
};
// Gives a queued job to the machine, which runs it from now on.
TestAttempt run_on(const std::string& url, const std::string& job, const TestMachine& machine);

// The machine is thought lost; the job is queued again.
void lose(const std::string& url, const std::string& job);

}  // namespace remotist::test
