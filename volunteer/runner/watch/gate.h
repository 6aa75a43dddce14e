// Decides, at each change of a watched variable, whether it is looked at now or later.
//
// The way through it is a counter and a flag: no clock, no lock, no look at the value. Only where a root is
// open is the value taken, within allowances of records and of R's own time for each variable and of bytes
// for all; then the newest value waits for the next turn, and its record tells how many changes it stands
// for. A variable whose value can change without an assignment is looked at again at each safe point.
//
// R's thread; the courier's thread opens roots whose time has come.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/watch_name.h"
#include "volunteer/runner/watch/allowance.h"
#include "volunteer/runner/watch/courier.h"
#include "volunteer/runner/watch/look.h"
#include "volunteer/runner/watch/snapshot.h"

namespace remotist::volunteer {

// A global variable of which one or more things are watched.
struct Root {
  SEXP symbol;
  std::uint64_t changes = 0;
  bool in_strip = false;       // a loop changes it, and tells how often when it has done some
  bool seen_in_strip = false;  // so that the strip's count is not that of the changes since then
  std::atomic<bool> open{true};
  std::atomic<std::int64_t> opens_at_us{0};
  std::vector<std::size_t> variables{};
};

class Gate {
 public:
  struct Options {
    int frames;
    int out;
    std::size_t value_bytes_max;
    std::size_t heap_bytes;  // that R may use
  };
  // Names that cannot be read are told as problems. False when there can be no thread.
  Gate(const std::vector<std::string>& names, Options options);
  bool start();

  const std::vector<std::unique_ptr<Root>>& roots() const { return roots_; }
  // The root of a symbol; null for every other.
  Root* root_of(SEXP symbol) const {
    for (auto at = place(symbol);; at = (at + 1) & (kPlaces - 1)) {
      if (places_[at] == nullptr || places_[at]->symbol == symbol) return places_[at];
    }
  }

  void changed(Root& root) {
    ++root.changes;
    if (root.open.load(std::memory_order_relaxed)) [[unlikely]]
      look(root);
  }

  // A loop changes it some times and only then tells how often; till then nobody looks, unless that takes
  // long.
  void begin_strip(Root& root, std::int64_t now);
  void end_strip(Root& root, std::uint64_t count) {
    root.in_strip = false;
    root.changes += count;
    if (root.seen_in_strip) [[unlikely]]
      doubt(root);
    if (root.open.load(std::memory_order_relaxed)) look(root);
  }

  // By a rule that depends on the value.
  bool looks_at_each_change(const Root& root) const;

  // Anything may have changed in ways that nobody told.
  void look_around(bool thorough);
  // No loop is under way: an error may have ended one within a strip.
  void leave_strips();
  // R's thread passes by: values that wait and whose time has come.
  void poll();
  // The last look, whatever the allowances say. Returns when all has been sent.
  void finish();
  // In a process that the script forked: it is not the job, and has no courier.
  void abandon() { abandoned_ = true; }

 private:
  struct Variable {
    WatchName name{};
    Root* root = nullptr;
    std::uint64_t taken = 0;  // of the root's changes
    bool suspect = false;     // changed without an assignment, perhaps
    bool restless = false;    // holds an environment
    bool seen = false;        // was there at least once
    bool told_problem = false;
    const void* value = nullptr;  // to compare, never to follow
    double number = 0;            // last told, for a rule
    bool has_number = false;
    std::int64_t not_before_us = 0;  // by a rule
    int large = 0;                   // values on their way that are held
    bool is_large = false;           // does not fit a record
    Allowance records;
    Allowance own_records;  // its part of what all may have
    Allowance time_us;
  };
  static constexpr std::size_t kPlaces = 256;
  static std::size_t place(SEXP symbol) {
    return (reinterpret_cast<std::uintptr_t>(symbol) >> 5) & (kPlaces - 1);
  }

  void look(Root& root);
  void look_now(Root& root, bool at_last);
  std::int64_t may_look_at(Variable& variable, std::int64_t now);
  void spend_record(Variable& variable, std::int64_t now);
  void take(Variable& variable, std::size_t index, Sight sight, std::int64_t now, bool at_last);
  void report(Variable& variable, std::size_t index, std::int64_t now, Changed::Kind kind, std::string words);
  bool has_headroom(std::size_t bytes) const;
  bool moved_enough(Variable& variable, SEXP value) const;
  void release_finished();
  void close(Root& root, std::int64_t until);
  void look_at_waiting(std::int64_t now, bool long_strip);
  // Its changes since the last look are not counted.
  void doubt(Root& root);
  // Whether the strip under way takes long: true once in a while, and then its roots are looked at.
  bool strip_is_long(std::int64_t now);
  // Whether the loop that changes it will soon tell.
  bool is_left_alone(Root& root, bool long_strip);
  bool has_news(const Variable& variable) const {
    return variable.suspect || variable.taken != variable.root->changes;
  }

  Options options_;
  std::vector<Variable> variables_;
  std::vector<std::unique_ptr<Root>> roots_;
  Root* places_[kPlaces] = {};
  std::vector<std::pair<std::size_t, std::string>> refused_;
  std::vector<std::size_t> slot_variable_;
  Holder holder_;
  Courier courier_;
  Allowance shared_records_;  // the part that is nobody's own
  Allowance small_bytes_;
  Allowance large_bytes_;
  std::int64_t began_us_;
  std::int64_t next_round_us_ = 0;
  std::int64_t strip_began_us_ = 0;
  std::int64_t timed_strip_us_ =
      0;  // the strip, by its beginning, since whose first look CPU time is measured
  std::int64_t timed_strip_cpu_us_ = 0;
  std::size_t looked_at_bytes_ = 0;
  bool looking_ = false;
  bool abandoned_ = false;
};

}  // namespace remotist::volunteer
