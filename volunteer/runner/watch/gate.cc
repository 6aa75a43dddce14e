#include "volunteer/runner/watch/gate.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <format>
#include <limits>
#include <malloc.h>
#include <time.h>
#include <utility>

#include "core/limits.h"

extern "C" {
// R's sleep looks up as often, in microseconds; 0: not at all.
extern int R_wait_usec;
}

namespace remotist::volunteer {

namespace {

constexpr std::int64_t kRoundEveryUs = 50'000;
constexpr std::int64_t kRoomEveryUs = 10'000;
constexpr int kLookUpUs = 20'000;
constexpr double kSmallLookUs = 100;
constexpr std::size_t kHeadroomBytesMin = 4 << 20;
constexpr std::int64_t kHeadroomEveryUs = 500'000;
constexpr double kLookBytesPerUs = 10;
constexpr std::int64_t kStripUsMax = 20'000;
constexpr std::int64_t kStripWaitUsMax = 1'000'000;
constexpr auto kNever = std::numeric_limits<std::int64_t>::max();

std::int64_t now_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

std::int64_t thread_cpu_us() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000 + time.tv_nsec / 1'000;
}

bool is_number(SEXP value) {
  return (TYPEOF(value) == REALSXP || TYPEOF(value) == INTSXP || TYPEOF(value) == LGLSXP) &&
         Rf_xlength(value) == 1;
}

bool is_bare_number(SEXP value) {
  return is_number(value) && ATTRIB(value) == R_NilValue;
}

bool same_number(double one, double other) {
  return one == other || (std::isnan(one) && std::isnan(other));
}

}  // namespace

Gate::Gate(const std::vector<std::string>& names, Options options)
    : options_(options),
      slot_variable_(names.size() * limits::kWatchedLargeMax),
      holder_(names.size() * limits::kWatchedLargeMax),
      courier_({options.frames, options.out, names.size()}),
      shared_records_(limits::kWatchedRecordsPerSecondAll / 2, limits::kWatchedRecordsBurstAll / 2, 1),
      small_bytes_(limits::kWatchedBytesPerSecond, limits::kWatchedBytesBurst, 0),
      large_bytes_(limits::kWatchedBytesPerSecond, limits::kWatchedBytesBurst, 0),
      began_us_(now_us()) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto name = parse_watch_name(names[i]);
    const auto parts = static_cast<double>(names.size());
    variables_.push_back(
        {.records = {limits::kWatchedRecordsPerSecond, limits::kWatchedRecordsBurst, 1},
         .own_records = {limits::kWatchedRecordsPerSecondAll / 2 / parts,
                         limits::kWatchedRecordsBurstAll / 2 / parts, 1},
         .time_us = {limits::kWatchedTimeShare * 1e6 / parts, limits::kWatchedTimeBurstUs / parts, 0}});
    if (!name) {
      refused_.emplace_back(i, name.error());
      continue;
    }
    const SEXP symbol = Rf_installChar(
        Rf_mkCharLenCE(name->variable.data(), static_cast<int>(name->variable.size()), CE_UTF8));
    Root* root = root_of(symbol);
    if (root == nullptr) {
      roots_.push_back(std::make_unique<Root>(symbol));
      root = roots_.back().get();
      auto at = place(symbol);
      while (places_[at] != nullptr) at = (at + 1) & (kPlaces - 1);
      places_[at] = root;
    }
    root->variables.push_back(i);
    variables_[i].root = root;
    variables_[i].name = std::move(*name);
  }
}

bool Gate::start() {
  courier_.on_tick([this](std::int64_t now) {
    bool again = courier_.any_finished();
    for (const auto& root : roots_) {
      if (root->open.load(std::memory_order_relaxed)) continue;
      if (again || root->opens_at_us.load(std::memory_order_relaxed) <= now) {
        root->open.store(true, std::memory_order_relaxed);
      } else {
        again = true;
      }
    }
    return again;
  });
  if (!courier_.start()) return false;
  for (auto& [index, words] : refused_)
    report(variables_[index], index, now_us(), Changed::Kind::problem, words);
  return true;
}

void Gate::close(Root& root, std::int64_t until) {
  root.opens_at_us.store(until, std::memory_order_relaxed);
  root.open.store(false, std::memory_order_relaxed);
  courier_.want_ticks();
  R_wait_usec = kLookUpUs;
}

void Gate::look(Root& root) {
  if (looking_) return;
  if (abandoned_) return root.open.store(false, std::memory_order_relaxed);
  looking_ = true;
  try {
    if (courier_.any_finished()) release_finished();
    look_now(root, false);
  } catch (const std::exception&) {
    close(root, now_us() + 1'000'000);  // no memory: the value waits
  }
  looking_ = false;
}

void Gate::look_now(Root& root, bool at_last) {
  const auto now = now_us();
  const auto sight = look_at(root.symbol);
  const Kept kept(sight.kind == Sight::Kind::value ? sight.value : R_NilValue);
  auto began = now;
  for (const auto index : root.variables) {
    auto& variable = variables_[index];
    if (!at_last && !has_news(variable)) continue;
    if (!at_last && may_look_at(variable, now) > now) continue;
    looked_at_bytes_ = 0;
    take(variable, index, sight, now, at_last);
    // This thread may have been put aside meanwhile: a small value never takes long.
    const auto most = kSmallLookUs + static_cast<double>(looked_at_bytes_) / kLookBytesPerUs;
    const auto ended = now_us();
    variable.time_us.spend(std::min(static_cast<double>(ended - began), most), now);
    began = ended;
  }
  auto next = kNever;
  for (const auto index : root.variables) next = std::min(next, may_look_at(variables_[index], now));
  if (next > now) close(root, next);
}

std::int64_t Gate::may_look_at(Variable& variable, std::int64_t now) {
  // So that one large value does not keep the small ones waiting.
  auto& bytes = variable.is_large ? large_bytes_ : small_bytes_;
  const auto turn = std::min(variable.own_records.ready_at(now), shared_records_.ready_at(now));
  const auto when = std::max({now, variable.not_before_us, variable.records.ready_at(now), turn,
                              bytes.ready_at(now), variable.time_us.ready_at(now)});
  const bool room = courier_.has_room(static_cast<std::size_t>(&variable - variables_.data())) &&
                    variable.large < limits::kWatchedLargeMax;
  return room ? when : std::max(when, now + kRoomEveryUs);
}

void Gate::spend_record(Variable& variable, std::int64_t now) {
  variable.records.spend(1, now);
  (variable.own_records.ready(now) ? variable.own_records : shared_records_).spend(1, now);
}

bool Gate::moved_enough(Variable& variable, SEXP value) const {
  if (variable.name.rule.kind != WatchRule::Kind::fraction || !variable.has_number || !is_number(value))
    return true;
  const double number = Rf_asReal(value);
  if (std::isnan(number) || std::isnan(variable.number))
    return std::isnan(number) != std::isnan(variable.number);
  return std::abs(number - variable.number) > variable.name.rule.amount * std::abs(variable.number);
}

// While a value is held, R copies it before it writes to it: a job that is near its limit must not fail for
// that.
bool Gate::has_headroom(std::size_t bytes) const {
  if (bytes < kHeadroomBytesMin) return true;
  const auto use = ::mallinfo2();
  return use.uordblks + use.hblkhd + bytes < options_.heap_bytes - options_.heap_bytes / 4;
}

void Gate::take(Variable& variable, std::size_t index, Sight sight, std::int64_t now, bool at_last) {
  variable.value = sight.kind == Sight::Kind::value ? sight.value : nullptr;
  sight = showable(look_into(sight, variable.name));
  variable.restless = sight.in_environment;
  switch (sight.kind) {
    case Sight::Kind::undecided:
      variable.taken = variable.root->changes;
      variable.suspect = true;
      return;
    case Sight::Kind::nothing:
      if (variable.seen) return report(variable, index, now, Changed::Kind::removed, {});
      if (at_last) return report(variable, index, now, Changed::Kind::problem, "it never existed");
      variable.taken = variable.root->changes;
      variable.suspect = false;
      return;
    case Sight::Kind::problem:
      variable.seen = true;
      return report(variable, index, now, Changed::Kind::problem, sight.words);
    case Sight::Kind::value:
      break;
  }
  const Kept kept(sight.value);
  if (!at_last && !moved_enough(variable, sight.value)) return;
  variable.seen = true;
  const auto made_of = survey(sight.value, options_.value_bytes_max);
  looked_at_bytes_ += made_of.bytes;
  variable.restless = sight.in_environment || made_of.environments || Rf_inherits(sight.value, "data.table");
  if (!made_of.whole || made_of.bytes > options_.value_bytes_max) {
    return report(variable, index, now, Changed::Kind::problem,
                  std::format("it is larger than {} MB, the most that this job can show",
                              options_.value_bytes_max >> 20));
  }
  variable.is_large = made_of.bytes > limits::kWatchedInlineBytesMax;
  auto& bytes = variable.is_large ? large_bytes_ : small_bytes_;
  if (!at_last && !bytes.ready(now)) return;
  if (!at_last && !has_headroom(made_of.bytes)) {
    variable.not_before_us = now + kHeadroomEveryUs;
    return;
  }
  int slot = -1;
  if (!made_of.large.empty()) {
    slot = holder_.hold(made_of.large);
    if (slot < 0 && at_last) {
      courier_.drain();
      release_finished();
      slot = holder_.hold(made_of.large);
    }
    if (slot < 0) return;
    slot_variable_[static_cast<std::size_t>(slot)] = index;
    ++variable.large;
  }
  Report made{.variable = index, .at_us = now - began_us_, .slot = slot};
  if (!serialize_into(made.stream, sight.value, made_of, made.words)) {
    made.kind = Changed::Kind::problem;
    made.stream = {};
  }
  const auto changes = variable.root->changes - variable.taken;
  const bool counted = !variable.suspect && (variable.name.steps.empty() || changes == 1);
  made.changes = counted ? changes : 0;
  variable.taken = variable.root->changes;
  variable.suspect = false;
  variable.has_number = is_number(sight.value);
  if (variable.has_number) variable.number = Rf_asReal(sight.value);
  if (variable.name.rule.kind == WatchRule::Kind::seconds) {
    variable.not_before_us = now + static_cast<std::int64_t>(variable.name.rule.amount * 1e6);
  }
  spend_record(variable, now);
  bytes.spend(static_cast<double>(made.stream.size()), now);
  courier_.take(std::move(made));
}

void Gate::report(Variable& variable, std::size_t index, std::int64_t now, Changed::Kind kind,
                  std::string words) {
  const auto total = variable.root == nullptr ? 1 : variable.root->changes;
  const auto changes = variable.suspect || !variable.name.steps.empty() ? 0 : total - variable.taken;
  variable.taken = total;
  variable.suspect = false;
  variable.has_number = false;
  spend_record(variable, now);
  courier_.take({.variable = index,
                 .changes = changes,
                 .at_us = now - began_us_,
                 .kind = kind,
                 .words = std::move(words)});
}

void Gate::release_finished() {
  for (const int slot : courier_.finished()) {
    holder_.release(slot);
    --variables_[slot_variable_[static_cast<std::size_t>(slot)]].large;
  }
}

void Gate::begin_strip(Root& root, std::int64_t now) {
  root.in_strip = true;
  strip_began_us_ = now;
}

void Gate::doubt(Root& root) {
  root.seen_in_strip = false;
  for (const auto index : root.variables) variables_[index].suspect = true;
}

// By what it computes, since a busy machine may have put this thread aside; or by the clock when it waits, as
// a method of a class may.
bool Gate::strip_is_long(std::int64_t now) {
  const auto took = now - strip_began_us_;
  if (took < kStripUsMax) return false;
  const auto cpu = thread_cpu_us();
  if (std::exchange(timed_strip_us_, strip_began_us_) != strip_began_us_) timed_strip_cpu_us_ = cpu;
  if (cpu - timed_strip_cpu_us_ < kStripUsMax && took < kStripWaitUsMax) return false;
  strip_began_us_ = now;
  return true;
}

bool Gate::is_left_alone(Root& root, bool long_strip) {
  if (!root.in_strip) return false;
  if (!long_strip) return true;
  doubt(root);
  root.seen_in_strip = true;
  return false;
}

bool Gate::looks_at_each_change(const Root& root) const {
  return std::ranges::any_of(root.variables, [this](std::size_t index) {
    return variables_[index].name.rule.kind == WatchRule::Kind::fraction;
  });
}

void Gate::leave_strips() {
  for (const auto& root : roots_) {
    if (std::exchange(root->in_strip, false)) doubt(*root);
  }
}

void Gate::look_around(bool thorough) {
  if (looking_ || abandoned_) return;
  const auto now = now_us();
  const bool long_strip = strip_is_long(now);
  for (const auto& root : roots_) {
    if (is_left_alone(*root, long_strip)) continue;
    const auto sight = look_at(root->symbol);
    const void* const value = sight.kind == Sight::Kind::value ? sight.value : nullptr;
    for (const auto index : root->variables) {
      auto& variable = variables_[index];
      if (has_news(variable)) continue;
      const bool same = value == variable.value ||
                        (value != nullptr && variable.has_number && is_bare_number(sight.value) &&
                         variable.name.steps.empty() && same_number(Rf_asReal(sight.value), variable.number));
      variable.suspect = !same || (thorough && variable.restless);
    }
  }
  look_at_waiting(now, long_strip);
}

void Gate::poll() {
  if (looking_ || abandoned_) return;
  const auto now = now_us();
  look_at_waiting(now, strip_is_long(now));
}

void Gate::look_at_waiting(std::int64_t now, bool long_strip) {
  if (courier_.any_finished()) release_finished();
  bool waiting = false;
  for (const auto& root : roots_) {
    if (is_left_alone(*root, long_strip)) {
      waiting = true;
      continue;
    }
    for (const auto index : root->variables) {
      if (!has_news(variables_[index])) continue;
      if (root->open.load(std::memory_order_relaxed)) look(*root);
      waiting = waiting || has_news(variables_[index]);
      break;
    }
  }
  if (!waiting) R_wait_usec = 0;
  if (now < next_round_us_) return;
  next_round_us_ = now + kRoundEveryUs;
  look_around(true);
}

void Gate::finish() {
  if (abandoned_) return;
  looking_ = true;
  leave_strips();
  for (const auto& root : roots_) {
    try {
      for (const auto index : root->variables) variables_[index].suspect |= !has_news(variables_[index]);
      look_now(*root, true);
    } catch (const std::exception&) {
      continue;  // no memory: what was told last stays
    }
  }
  courier_.drain();
}

}  // namespace remotist::volunteer
