// Sends samples of watched variables to the host: hashes each value, drops it if it has not changed, and
// writes the rest as frames or files. All of that happens on a thread of its own, which never touches R.
//
// Threads: the public functions are called on R's thread and never wait for the host, except drain(). mutex_
// guards queue_, marks_, finished_slots_ and the flags; last_sent_, processed_, unread_files_, next_file_ and
// outgoing_ belong to the sender's thread, enqueued_ to R's.
//
// Invariants:
// - waiting_[v] is the number of samples of variable v that are queued or being processed, waiting_bytes_ the
//   bytes that were copied for them. has_room() compares both with their limits; enqueue() does not check.
// - Samples of one variable are processed in the order in which they were enqueued, and their records are
// numbered
//   from 1 without gaps. Small samples may overtake large ones of other variables.
// - A mark is sent when every sample that was enqueued before it has been processed, and says what their
//   newest records are: no sample that was enqueued after it counts.
// - A pinned slot appears in take_finished_slots() once its sample has been read, and not before.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "volunteer/runner/watch/byte_chain.h"
#include "volunteer/runner/watch/canonical_hash.h"
#include "volunteer/sandbox/guest_message.h"

namespace remotist::volunteer {

// The value of one variable at one moment.
struct Sample {
  std::size_t variable = 0;
  std::uint64_t changes = 0;  // since the last sample; 0: unknown
  std::int64_t at_us = 0;
  WatchedKind kind = WatchedKind::value;
  std::string reason{};  // with WatchedKind::problem
  ByteChain stream{};    // with WatchedKind::value
  int slot = -1;         // of PinnedVectors, if the stream refers to vectors
};

class RecordSender {
 public:
  struct Options {
    int frames;  // socket to the host
    int out;     // folder for values that are too large for a frame
    std::size_t variables;
    std::map<std::size_t, ResumeFrom::Watched> last{};  // records before a resume, by variable
  };
  explicit RecordSender(Options options);
  // Starts the thread, which lives as long as the process; false when that fails.
  bool start();
  // After request_ticks() the thread calls `tick` every few milliseconds, with the time in microseconds of
  // steady_clock, until it returns false. Set before start().
  void on_tick(std::function<bool(std::int64_t)> tick) { tick_ = std::move(tick); }
  void request_ticks();

  bool has_room(std::size_t variable) const;
  void enqueue(Sample sample);
  // Sends WatchedMarks for this checkpoint when the samples before it have been processed.
  void mark(std::uint64_t number);
  // Slots whose vectors the thread no longer reads.
  bool has_finished_slots() const { return finished_count_.load(std::memory_order_relaxed) > 0; }
  std::vector<int> take_finished_slots();
  // Returns when every enqueued sample has been sent.
  void drain();

 private:
  struct LastSent {  // the newest record of a variable
    bool sent = false;
    WatchedKind kind{};
    Hash hash{};  // of the value or the reason
    std::int64_t number = 0;
    std::uint64_t uncounted_changes = 0;  // that led back to the same value
  };

  struct Mark {
    std::uint64_t number;
    std::vector<std::uint64_t> after;  // for each variable: how many of its samples come before
    std::vector<std::optional<WatchedMark>> found;
  };

  static void* run(void* self);
  void work();
  // The next sample: small ones first, those of one variable in their order.
  bool dequeue(Sample& sample, bool small_only, std::size_t except);
  void process(Sample& sample);
  void process_small_samples(std::size_t except);
  void release(const Sample& sample);
  void add_frame(const GuestRecord& record, std::string_view body = {});
  void send_outgoing();
  static bool is_new(const LastSent& last, const Sample& sample, const Hash& hash);
  WatchedMark mark_of(std::size_t variable) const;
  // Before a sample of this variable is processed.
  void note_marks(std::size_t variable);
  void send_marks();
  void send(LastSent& last, Sample& sample);
  // "" or why it failed.
  std::string write_file(const Sample& sample, std::string& name);
  bool wait_for_file_space(const Sample& sample);

  Options options_;
  std::function<bool(std::int64_t)> tick_;
  std::vector<LastSent> last_sent_;
  std::vector<std::pair<std::string, std::size_t>>
      unread_files_;  // that the host may not have read yet, with sizes
  std::uint64_t next_file_ = 1;
  std::string outgoing_;  // frames that are sent together

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::deque<Sample> queue_;
  std::deque<Mark> marks_;
  std::atomic<int> mark_count_{0};
  std::vector<std::uint64_t> enqueued_;   // samples of each variable; R's thread
  std::vector<std::uint64_t> processed_;  // likewise; the sender's thread
  std::vector<int> finished_slots_;
  std::atomic<int> finished_count_{0};
  std::vector<std::atomic<int>> waiting_;      // for each variable
  std::atomic<std::size_t> waiting_bytes_{0};  // of copies
  bool busy_ = false;
  bool asleep_ = false;
  bool ticking_ = false;
  bool draining_ = false;
};

}  // namespace remotist::volunteer
