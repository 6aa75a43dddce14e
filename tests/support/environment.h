// The stack that script/test has started for the integration tests.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace remotist::test {

// A variable of the stack's env file. Ends the run with an explanation when it is not set.
std::string env(const char* name);

// Where each market itself listens; REMOTIST_URL may be a proxy in front of them.
std::vector<std::string> market_urls();

// postgres, rabbitmq, market …: the process that the stack runs under this name, killed with SIGKILL, and
// gone when this returns.
void kill_part(const std::string& name);
// Every market at once.
void kill_markets();
// Sends a signal to it.
void signal_part(const std::string& name, int signal);
// Its process id.
pid_t pid_of(const std::string& name);
// Stops it where it stands (SIGSTOP); every thread of it does when this returns.
void freeze_part(const std::string& name);
// Starts what is missing (script/up); fails the test case when that fails.
void bring_up();
// Runs a command and gives its standard output; fails the test case when it exits with other than 0.
std::string output_of(const std::string& command);

// A seed for a randomised test: fresh, or REMOTIST_TEST_SEED. Shown when the test fails.
unsigned seed();

}  // namespace remotist::test
