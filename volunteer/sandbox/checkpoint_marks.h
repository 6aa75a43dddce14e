// Joins what a guest says of its checkpoints into one CheckpointTaken each. Pure.
//
// For a checkpoint the guest sends CheckpointBegun, writes a marker into its output, sends WatchedMarks when
// the records before it have been sent, and Checkpointed when the file is complete. Output and messages come
// through different descriptors, so the parts may arrive in any order but that of the messages. A checkpoint
// of which any part is missing is none: one that failed, or a forged one.
//
// Everything is untrusted. At most kPendingMax checkpoints are remembered, with a log each; numbers must
// grow; and only so many a second are looked at (kPerSecond), because each costs a copy of the log.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/token_bucket.h"
#include "volunteer/sandbox/guest.h"
#include "volunteer/sandbox/guest_message.h"

namespace remotist::volunteer {

class CheckpointMarks {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kPendingMax = 4;
  static constexpr double kPerSecond = 20;
  static constexpr double kBurst = 20;

  CheckpointMarks(std::size_t variables, Time now)
      : variables_(variables),
        begun_budget_(kPerSecond, kBurst, now),
        marker_budget_(kPerSecond, kBurst, now) {}

  // Whether to call begin() or mark_output() with this number; ask once for each.
  bool expects_begin(std::uint64_t number, Time now);
  bool expects_marker(std::uint64_t number, Time now);

  void begin(std::uint64_t number, std::int64_t cpu_ms, Time now, const std::optional<Progress>& progress);
  void mark_output(std::uint64_t number, std::string log, std::uint64_t left_out);
  // `records`: the numbers of the newest records that have arrived.
  void mark_watched(WatchedMarks marks, const std::vector<std::int64_t>& records);
  // Whether such a checkpoint has begun and has no file yet.
  bool expects_file(std::uint64_t number) const;
  void complete(const Checkpointed& message, std::filesystem::path file, std::int64_t bytes);

  // The checkpoints of which nothing is missing any more, in their order.
  std::vector<CheckpointTaken> take_complete();
  // Files of checkpoints that were given up.
  std::vector<std::filesystem::path> take_abandoned();
  // Gives up all that are incomplete.
  void abandon();

 private:
  struct Pending {
    CheckpointTaken taken{};
    bool begun = false;
    bool output_marked = false;
    bool watched_marked = false;
    bool complete = false;
    bool all() const { return begun && output_marked && watched_marked && complete; }
  };
  Pending& pending(std::uint64_t number);
  // Forgets the oldest beyond kPendingMax.
  void drop_oldest();

  std::size_t variables_;
  TokenBucket begun_budget_;
  TokenBucket marker_budget_;
  std::map<std::uint64_t, Pending> pending_;
  std::vector<std::filesystem::path> abandoned_;
  std::uint64_t last_begun_ = 0;
  std::uint64_t last_marker_ = 0;
  std::uint64_t last_dropped_ = 0;
};

}  // namespace remotist::volunteer
