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
#include "bench/agent_load/options.h"
#include "bench/agent_load/report.h"
#include "bench/agent_load/roster.h"
#include "volunteer/connection/errands.h"
#include "volunteer/connection/rest.h"
#include "volunteer/connection/window.h"

namespace remotist::bench {

using volunteer::Errands;
using volunteer::Rest;

class Fleet {
 public:
  // All references must outlive this. Throws std::runtime_error when the kernel refuses a descriptor.
  Fleet(const RunOptions& options, const std::vector<Lent>& machines, Report& report, Journal& journal);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  // Runs until the options say so, a signal comes, or no machine is left; then the machines take their leave,
  // for five seconds at most or until another signal. Throws what the journal throws.
  void run();

  // Whether every machine was turned away for good.
  bool all_retired() const { return report_.retired == seats_.size(); }

 private:
  class Seat;  // a machine and its socket

  struct Alarm {
    Time at;
    std::size_t seat;
    bool operator>(const Alarm& other) const { return at > other.at; }
  };

  void watch(int descriptor, void* what);
  void wait(Time now);
  void ring(Time now);
  // Once a second.
  void tell_progress(Time now);
  bool is_over(Time now) const;
  void take_leave();

  const RunOptions& options_;
  Report& report_;
  Journal& journal_;
  int epoll_;
  int signals_;
  std::vector<std::unique_ptr<Rest>> rests_;  // one for each thread of uploads_
  std::vector<std::unique_ptr<Seat>> seats_;
  std::priority_queue<Alarm, std::vector<Alarm>, std::greater<>> alarms_;
  Errands dials_;
  Errands uploads_;

  Time began_;
  Time next_line_;
  Time next_flush_;
  std::uint64_t completed_told_ = 0;
  int signals_seen_ = 0;
};

}  // namespace remotist::bench
