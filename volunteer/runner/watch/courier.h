// Takes what was seen of watched variables from R's thread to the host: hashes each value, drops what has not
// changed, and sends the rest as frames or files. All of it on a thread of its own, which never touches R.
//
// Bounded: when the host is slow, R's thread is told that there is no room, and goes on. Everything here but
// the thread's own work is called on R's thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "volunteer/runner/watch/canonical_hash.h"
#include "volunteer/runner/watch/pieces.h"
#include "volunteer/sandbox/word.h"

namespace remotist::volunteer {

// One look at one variable.
struct Report {
  std::size_t variable = 0;
  std::uint64_t changes = 0;  // 0: not known
  std::int64_t at_us = 0;
  Changed::Kind kind = Changed::Kind::value;
  std::string words{};
  Pieces stream{};
  int slot = -1;  // of the Holder, to be released when it has been read
};

class Courier {
 public:
  struct Options {
    int frames;  // socket to the host
    int out;     // folder for values that are too large for a frame
    std::size_t variables;
  };
  explicit Courier(Options options);
  // Starts the thread, which lives as long as the process; false when there can be none.
  bool start();
  // What the thread calls every some milliseconds once ticks are wanted, with the time in microseconds of
  // steady_clock, for as long as it answers true. Set before start().
  void on_tick(std::function<bool(std::int64_t)> tick) { tick_ = std::move(tick); }
  void want_ticks();

  bool has_room(std::size_t variable) const;
  void take(Report report);
  // Slots whose values have been read.
  bool any_finished() const { return finished_count_.load(std::memory_order_relaxed) > 0; }
  std::vector<int> finished();
  // Returns when all that was taken has been sent.
  void drain();

 private:
  struct Last {  // of a variable, as the host knows it
    bool told = false;
    Changed::Kind kind{};
    Hash hash{};
    std::string words{};
    std::uint64_t number = 0;
    std::uint64_t carried = 0;  // changes that led back to the same value
  };

  static void* run(void* self);
  void work();
  // The next that may go: small ones first, those of one variable in their order.
  bool pick(Report& report, bool small_only, std::size_t not_of);
  void deliver(Report& report);
  void deliver_small_ones(std::size_t not_of);
  void done_with(const Report& report);
  void add_frame(const Changed& word, std::string_view body = {});
  void send_outgoing();
  bool is_news(Last& last, const Report& report, Hash& hash);
  void send(Last& last, Report& report);
  std::string write_file(const Report& report, std::string& name);
  bool wait_for_room(const Report& report);

  Options options_;
  std::function<bool(std::int64_t)> tick_;
  std::vector<Last> last_;
  std::vector<std::pair<std::string, std::size_t>> files_;  // that the host may not have read yet
  std::uint64_t next_file_ = 1;
  std::string outgoing_;  // frames that go together

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::deque<Report> queue_;
  std::vector<int> finished_;
  std::atomic<int> finished_count_{0};
  std::vector<std::atomic<int>> waiting_;      // for each variable
  std::atomic<std::size_t> waiting_bytes_{0};  // that were copied
  bool busy_ = false;
  bool asleep_ = false;
  bool ticking_ = false;
  bool hurry_ = false;
};

}  // namespace remotist::volunteer
