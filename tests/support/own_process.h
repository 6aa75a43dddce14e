// A program of ours that a test runs by itself, with an environment of its own; killed at the end.
#pragma once

#include <map>
#include <string>
#include <sys/types.h>
#include <vector>

namespace remotist::test {

class OwnProcess {
 public:
  // `program` is one of REMOTIST_BIN. What it prints goes to log/<log>.log of the stack, its standard output
  // to `output` when that is not empty.
  OwnProcess(const std::string& program, const std::vector<std::string>& arguments,
             const std::map<std::string, std::string>& settings, const std::string& log,
             const std::string& output = {});
  ~OwnProcess();
  OwnProcess(OwnProcess&& other) noexcept;
  OwnProcess& operator=(OwnProcess&& other) noexcept;

  pid_t pid() const { return pid_; }
  void signal(int number) const;
  // SIGKILL; gone when this returns.
  void kill();
  // Whether it ends by itself within half a minute.
  bool ends();

 private:
  pid_t pid_ = -1;
};

// Free a moment ago. Another program may be quicker; then the one that wanted it does not start and says why.
int free_port();

}  // namespace remotist::test
