// Runs cases in a Sandbox on a CanaryHost, optionally with a neighbour: a harmless guest that runs all the
// time and must not be affected.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sandbox_cases/canary_host.h"
#include "tests/sandbox_cases/case.h"
#include "volunteer/sandbox/sandbox.h"

namespace remotist::volunteer::cases {

// How one case ended.
struct CaseResult {
  Verdict verdict;
  std::string log;
  std::vector<Progress> progress;
  std::filesystem::path folder;           // deleted after a few more cases
  std::chrono::milliseconds cancelled{};  // from stop() to Ended
  std::vector<std::string> harm;          // done to the host, the sandbox or the neighbour

  std::string ending() const;  // as in Case::endings
  // The rest of each log line that begins with this keyword ("trying", "escaped", "contained") and a colon.
  std::vector<std::string> lines(std::string_view keyword) const;
  bool tried() const { return !lines("trying").empty(); }
  bool escaped() const { return !lines("escaped").empty() || !harm.empty(); }
  std::string description() const;  // all of it, for messages
};

class CaseRunner {
 public:
  CaseRunner(CanaryHost& host, Protections protections);
  ~CaseRunner();
  CaseRunner(const CaseRunner&) = delete;
  CaseRunner& operator=(const CaseRunner&) = delete;

  // Runs a case to its end. Throws std::runtime_error when it does not end.
  CaseResult run(const Case& what);
  CaseResult run(std::string_view key) { return run(case_of(key)); }

  // Starts the neighbour unless it runs; from then on run() checks after each case that it still runs.
  void start_neighbour();
  // Lets the neighbour finish. Returns what is wrong with its result, or nothing.
  std::string finish_neighbour();

  // Why the zygote is not the original process in a running state, or nothing.
  std::string zygote_harm() const;
  Sandbox& sandbox() { return *sandbox_; }

 private:
  std::string neighbour_harm();
  CaseResult wait_for(const std::string& name, const Case& what);
  GuestSpec prepare(const Case& what, const std::string& name);
  static void remove(const GuestSpec& guest);
  void remove_old_folders();
  void poll_events(int within_ms);
  std::vector<std::string> leftover_processes() const;

  CanaryHost& host_;
  std::unique_ptr<Sandbox> sandbox_;
  pid_t zygote_ = 0;
  std::vector<pid_t> before_;       // processes that belong to the sandbox
  std::ptrdiff_t descriptors_ = 0;  // that the test has open
  std::vector<Event> events_;       // not handled yet
  GuestSpec neighbour_{};           // no name: none runs
  pid_t neighbour_first_ = 0;
  std::vector<GuestSpec> guests_made_;
  int guests_ = 0;
};

}  // namespace remotist::volunteer::cases
