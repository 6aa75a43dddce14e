// What is compared: how machines fail, and how a system notices it and goes on. The settings are those of the
// evaluation of "A DHT-based Infrastructure for Sharing Checkpoints in Desktop Grid Computing" (2006), of
// which a time unit is a minute here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace remotist::churn {

using Ms = std::int64_t;

inline constexpr Ms kUnitMs = 60'000;
inline constexpr Ms kPaperIntervalMs = 10 * kUnitMs;  // t_checkpoint
inline constexpr Ms kWorkMs = 50 * kUnitMs;           // t_exec: five of them, the ideal turnaround time
inline constexpr Ms kTaskTimeoutMs = 3 * kWorkMs;     // t_t
inline constexpr Ms kCheckpointTimeoutMs = 3 * kPaperIntervalMs;  // t_p
inline constexpr int kBeatsInLease = 3;
inline constexpr std::size_t kKeptByMarket = 3;

struct Failures {
  bool recover;    // a machine that has failed comes back after as long a time as it works, on average
  double mean_ms;  // the time for which a machine works
};

enum class Detection {
  task_timeout,        // an attempt is over some time after its beginning, whatever its machine does
  checkpoint_timeout,  // the same, after its beginning or its last checkpoint
  lease,               // an attempt is over a lease after its machine's last beat
};

struct Scheme {
  Detection detection;
  Ms timeout_ms;         // or the lease
  Ms first_interval_ms;  // work before the job's first checkpoint
  Ms interval_ms;        // and between any two others
  Ms cost_ms;            // by which each checkpoint delays the job
  std::size_t kept;      // newest checkpoints that other machines may resume from
  double availability;   // probability that one of these can be fetched, for each and at each time
};

// The paper's two. A machine that comes back before the timeout resumes from its own newest checkpoint.
// Another one begins again with private checkpoints.
Scheme private_checkpoints();
Scheme shared_checkpoints(double availability);

// RemotIST: leases, and checkpoints in the market, which cost nothing, as in the paper.
Scheme market_checkpoints(Ms interval_ms, Ms lease_ms, double availability = 1);
// The same with checkpoints that have a cost and are taken when core/checkpoint_schedule.h says.
Scheme scheduled_checkpoints(const Failures& failures, Ms cost_ms, Ms lease_ms);

// How long a job runs from its beginning to each checkpoint, from one to the next, and from the last one to
// its end.
std::vector<Ms> segments(const Scheme& scheme, Ms work_ms);

}  // namespace remotist::churn
