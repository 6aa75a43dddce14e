// CPU time of a guest's processes where no cgroup counts it, sampled from /proc.
//
// The kernel adds a child's CPU time to its parent's when the parent waits for it. A child that is never
// waited for and lives shorter than the interval between two samples leaves no trace; so a process that is
// first seen running is charged for the whole interval since the last sample. Over many samples that is right
// on average, provided that a guest cannot predict them: call sample() at random intervals.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <sys/types.h>

namespace remotist::volunteer {

class CpuSampler {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void start(Time now) { last_sample_ = now; }
  // CPU time so far of a process and all its descendants, in ms; never decreases.
  std::int64_t sample(pid_t root, Time now);
  std::int64_t ms() const { return ms_; }

 private:
  struct Process {
    std::uint64_t started = 0;  // its start time, which tells it from a later process with the same pid
    double ms = 0;              // without its children; estimated in the first sample
  };

  Time last_sample_;
  std::map<pid_t, Process> alive_;
  double ended_ms_ = 0;
  std::int64_t ms_ = 0;
};

}  // namespace remotist::volunteer
