// All machines of a run, in one thread: their sockets, their timers, and when the run ends. Connecting and
// REST block, so other threads do that.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "bench/agent_load/journal.h"
#include "bench/agent_load/machine_list.h"
#include "bench/agent_load/options.h"
#include "bench/agent_load/report.h"
#include "volunteer/connection/background_calls.h"
#include "volunteer/connection/clock.h"
#include "volunteer/connection/rest.h"

namespace remotist::bench {

using volunteer::BackgroundCalls;
using volunteer::Rest;

class Fleet {
 public:
  // All references must outlive this. Throws std::runtime_error when the kernel refuses a descriptor.
  Fleet(const RunOptions& options, const std::vector<MachineCredentials>& machines, Report& report,
        Journal& journal);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // Runs until the options say so, a signal comes, or no machine is left; then the machines say goodbye,
  // for five seconds at most or until another signal. Throws what the journal throws.
  void run();

  // Whether every machine was turned away for good.
  bool all_retired() const { return report_.retired == connections_.size(); }

 private:
  class Connection;  // a machine with its socket

  struct Timer {
    Time at;
    std::size_t connection;
    bool operator>(const Timer& other) const { return at > other.at; }
  };

  void add_to_epoll(int descriptor, void* what);
  void wait(Time now);
  void run_timers(Time now);
  // Once a second.
  void print_progress(Time now);
  bool is_over(Time now) const;
  void leave_all();

  const RunOptions& options_;
  Report& report_;
  Journal& journal_;
  int epoll_;
  int signals_;
  std::vector<std::unique_ptr<Rest>> rests_;  // one for each thread of uploads_
  std::vector<std::unique_ptr<Connection>> connections_;
  std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
  BackgroundCalls connects_;
  BackgroundCalls uploads_;

  Time began_;
  Time next_line_;
  Time next_flush_;
  std::uint64_t completed_told_ = 0;
  int signals_seen_ = 0;
};

}  // namespace remotist::bench
