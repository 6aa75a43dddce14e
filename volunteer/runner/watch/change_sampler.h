// Decides at each change of a watched variable whether its value is sampled now or later.
//
// The fast path, changed(), increments a counter and tests a flag: no clock, no lock, no access to the value.
// While a global is due, its value is serialised and handed to the RecordSender, within token buckets:
// records and R's time for each variable, bytes and records for all. When a bucket is empty, the newest value
// waits, and its record states how many changes it stands for. A variable whose value can change without an
// assignment is sampled again at each safe point.
//
// Threads: everything is called on R's thread. The RecordSender's thread touches only `due` and `due_at_us`
// of the globals, through the tick that start() installs.
//
// Invariants between calls:
// - WatchedGlobal::changes only grows, and Variable::reported_changes <= changes of its global.
// - A global that is not due has a time in due_at_us, and the sender ticks until it is due again.
// - Each Variable belongs to one global, which the sampler owns; it is in the list `variables` of that
// global.
// - Variable::large_in_flight is the number of pinned slots whose slot_variable_ is this variable.
// - Until finish(), and after resumed(), sampling_ is false: a sample never starts another one, however R
// calls back.
// - After disable_in_child() nothing is sampled or sent.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/watch_name.h"
#include "volunteer/runner/watch/peek.h"
#include "volunteer/runner/watch/record_budget.h"
#include "volunteer/runner/watch/record_sender.h"
#include "volunteer/runner/watch/snapshot.h"

namespace remotist::volunteer {

// A global variable of which the whole value or elements are watched.
struct WatchedGlobal {
  SEXP symbol;
  std::uint64_t changes = 0;
  bool in_batch = false;          // a loop changes it, and adds the count at the end of a batch of iterations
  bool sampled_in_batch = false;  // so the batch's count is not that of the changes since the sample
  std::atomic<bool> due{true};    // the next change is sampled
  std::atomic<std::int64_t> due_at_us{0};
  std::vector<std::size_t> variables{};
};

class ChangeSampler {
 public:
  struct Options {
    int frames;
    int out;
    std::size_t value_bytes_max;
    std::size_t heap_bytes;  // that R may use
    // The script resumes: nothing is sampled before resumed(), and these are the newest records before.
    bool resumes = false;
    std::map<std::size_t, ResumeFrom::Watched> last{};
  };
  ChangeSampler(const std::vector<std::string>& names, Options options);
  // Reports names that cannot be parsed as problems. False when the thread cannot be started.
  bool start();

  const std::vector<std::unique_ptr<WatchedGlobal>>& globals() const { return globals_; }
  // Null for a symbol that is not watched.
  WatchedGlobal* find_global(SEXP symbol) const {
    for (auto at = bucket_of(symbol);; at = (at + 1) & (kBuckets - 1)) {
      if (buckets_[at] == nullptr || buckets_[at]->symbol == symbol) return buckets_[at];
    }
  }

  void changed(WatchedGlobal& global) {
    ++global.changes;
    if (global.due.load(std::memory_order_relaxed)) [[unlikely]]
      sample(global);
  }

  // Between these a loop changes the global `count` times without calling changed(). Meanwhile it is sampled
  // only if the batch takes long.
  void begin_batch(WatchedGlobal& global, std::int64_t now);
  void end_batch(WatchedGlobal& global, std::uint64_t count) {
    global.in_batch = false;
    global.changes += count;
    if (global.sampled_in_batch) [[unlikely]]
      mark_maybe_changed(global);
    if (global.due.load(std::memory_order_relaxed)) sample(global);
  }

  // A rule that depends on the value must see each change, so the global cannot be batched.
  bool samples_each_change(const WatchedGlobal& global) const;

  // Compares all values with those last sampled: variables may have changed without a call of changed().
  // `thorough`: also those that can change silently.
  void check_all(bool thorough);
  // No loop is running: an error may have ended one within a batch.
  void end_all_batches();
  // R polls for events: samples pending values that are due.
  void poll();
  // Samples all values for the last time, whatever the buckets hold. Returns when all records have been sent.
  void finish();
  // The variables have their values of the checkpoint.
  void resumed();
  // A checkpoint captures the values as they are now (RecordSender::mark).
  void mark(std::uint64_t number) { sender_.mark(number); }
  // In a process that the script forked: it is not the job, and has no sender thread.
  void disable_in_child() { disabled_ = true; }

 private:
  struct Variable {
    WatchName name{};
    WatchedGlobal* global = nullptr;     // null when the name could not be parsed
    std::uint64_t reported_changes = 0;  // of the global's
    bool maybe_changed = false;          // without an assignment
    bool can_change_silently = false;    // contains an environment
    bool existed = false;
    const void* last_address = nullptr;  // of the value: to compare, never to dereference
    double last_number = 0;              // last sent, for a rule
    bool has_last_number = false;
    std::int64_t not_before_us = 0;  // by a rule
    int large_in_flight = 0;         // pinned values that the sender has not read yet
    bool is_large = false;           // does not fit a frame
    RecordBudget records;
    RecordBudget own_records;  // its share of the records of all variables
    RecordBudget time_us;
  };
  static constexpr std::size_t kBuckets = 256;
  static std::size_t bucket_of(SEXP symbol) {
    return (reinterpret_cast<std::uintptr_t>(symbol) >> 5) & (kBuckets - 1);
  }

  void sample(WatchedGlobal& global);
  void sample_now(WatchedGlobal& global, bool is_final);
  std::int64_t next_sample_at(Variable& variable, std::int64_t now);
  void spend_record(Variable& variable, std::int64_t now);
  void sample_variable(Variable& variable, std::size_t index, PeekedValue peeked, std::int64_t now,
                       bool is_final);
  void send_without_value(Variable& variable, std::size_t index, std::int64_t now, WatchedKind kind,
                          std::string reason);
  bool has_headroom(std::size_t bytes) const;
  bool moved_enough(Variable& variable, SEXP value) const;
  void unpin_finished();
  void defer(WatchedGlobal& global, std::int64_t until);
  void sample_pending(std::int64_t now, bool batch_is_long);
  // The changes since its last sample are not counted.
  void mark_maybe_changed(WatchedGlobal& global);
  // True at intervals while the present batch takes long; then its globals are sampled.
  bool batch_takes_long(std::int64_t now);
  // Whether the loop that changes it will soon add its count.
  bool waits_for_batch(WatchedGlobal& global, bool batch_is_long);
  bool has_pending_change(const Variable& variable) const {
    return variable.maybe_changed || variable.reported_changes != variable.global->changes;
  }

  Options options_;
  std::vector<Variable> variables_;  // in the client's order; never grows after the constructor
  std::vector<std::unique_ptr<WatchedGlobal>> globals_;
  WatchedGlobal* buckets_[kBuckets] = {};  // globals_ by symbol, open addressing
  std::vector<std::pair<std::size_t, std::string>> refused_names_;
  std::vector<std::size_t> slot_variable_;
  PinnedVectors pinned_;
  RecordSender sender_;
  RecordBudget shared_records_;  // the half that is not divided among the variables
  RecordBudget small_bytes_;
  RecordBudget large_bytes_;
  std::int64_t began_us_;
  std::int64_t next_check_us_ = 0;
  std::int64_t batch_began_us_ = 0;
  std::int64_t timed_batch_us_ = 0;  // batch_began_us_ of the batch whose CPU time is measured
  std::int64_t timed_batch_cpu_us_ = 0;
  std::size_t sampled_bytes_ = 0;
  bool sampling_ = false;
  bool disabled_ = false;
};

}  // namespace remotist::volunteer
