// When the guest of one attempt is asked for a checkpoint: after an interval that follows from what this
// job's checkpoints cost (core/checkpoint_schedule.h), or at once.
//
// Has no guest and no clock. A guest that was asked tries at each of its safe points until it has taken one.
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "volunteer/connection/clock.h"

namespace remotist::volunteer {

class CheckpointSchedule {
 public:
  // A guest that has not answered is asked again: it may not have read its socket.
  static constexpr std::int64_t kAskAgainSeconds = 10;
  static constexpr std::chrono::seconds kAskAgain{kAskAgainSeconds};
  // Without a checkpoint for so long after the guest was asked, the job's owner is told why.
  static constexpr std::int64_t kProblemSeconds = 60;
  static constexpr std::chrono::seconds kProblemAfter{kProblemSeconds};
  // Used while the market knows no mean time between losses of this machine.
  static constexpr std::int64_t kLossMeanSeconds = 86'400;
  static constexpr std::chrono::seconds kLossMean{kLossMeanSeconds};

  // `loss_ms_mean`: 0 when unknown.
  CheckpointSchedule(std::int64_t loss_ms_mean, std::int64_t cpu_cores);

  // The script runs, from its beginning or from a checkpoint; before that nothing is asked.
  void began(Time now);
  // The run has ended, or its checkpoints are not possible for this reason. Nothing is asked any more.
  void ended() { asks_ = false; }
  void impossible(std::string reason);
  // The guest has taken a checkpoint, asked or not. The figures are the guest's word.
  void taken(double pause_ms, double child_cpu_ms, Time now);
  // The guest could not take one so far; it goes on trying.
  void refused(std::string reason) { refused_because_ = std::move(reason); }
  // The next request is due at once, also while an earlier checkpoint is not kept yet.
  void ask_now() { urgent_ = true; }
  // The same, and the checkpoint must not refer to chunks of earlier ones.
  void ask_full() { urgent_ = wants_full_ = true; }

  enum class Request : std::uint8_t { none, usual, full };
  // What to ask the guest now; it counts as asked. `busy`: an earlier checkpoint is not kept yet.
  Request take_request(bool busy, Time now);
  // When to call wake(), and take_request() then. Never: Time::max().
  Time due(bool busy) const;
  void wake(Time now);

  // Whether checkpoints can come: the script runs in the engine.
  bool is_possible() const { return asks_; }
  // Between two checkpoints, as it is now.
  std::int64_t interval_ms() const;
  // Why the job has had no checkpoint for long, for its owner; empty when there is nothing to say.
  std::string problem() const;

 private:
  std::int64_t loss_ms_mean_;
  std::int64_t cpu_cores_;
  std::optional<double> cost_ms_;  // of a checkpoint, newer ones count more
  bool asks_ = false;
  bool urgent_ = false;
  bool wants_full_ = false;
  bool is_impossible_ = false;
  Time ask_at_ = Time::max();
  bool was_asked_ = false;  // since the last checkpoint
  Time problem_at_ = Time::max();
  bool has_problem_ = false;
  std::string refused_because_;
};

}  // namespace remotist::volunteer
