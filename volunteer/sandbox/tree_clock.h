// CPU time of a guest's processes where no cgroup counts it, from looks at /proc.
//
// The kernel adds a child's time to its parent's when it is waited for. Of one that is never waited for, and
// lives shorter than the time between two looks, nothing remains; so what is seen running at a look stands
// for all that may have run since the last one. Over many looks that is right on average, as long as a guest
// cannot know when the next one comes: whoever looks does so at random times.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <sys/types.h>

namespace remotist::volunteer {

class TreeClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void start(Time now) { last_look_ = now; }
  // CPU time so far of a process and all its descendants, in ms; never less than before.
  std::int64_t look(pid_t root, Time now);
  std::int64_t ms() const { return ms_; }

 private:
  struct Seen {
    std::uint64_t born = 0;
    double ms = 0;  // its own, without its children; guessed while it was seen only once
  };

  Time last_look_;
  std::map<pid_t, Seen> alive_;
  double gone_ms_ = 0;
  std::int64_t ms_ = 0;
};

}  // namespace remotist::volunteer
