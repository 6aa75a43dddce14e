#include "volunteer/runner/watch/change_sampler.h"

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
// How often Sys.sleep() polls for events, in microseconds; 0: never.
extern int R_wait_usec;
}

namespace remotist::volunteer {

namespace {

constexpr std::int64_t kCheckAllEveryUs = 50'000;
constexpr std::int64_t kQueueRetryUs = 10'000;
constexpr int kPollEveryUs = 20'000;
constexpr double kSmallSampleUsMax = 100;
constexpr std::size_t kHeadroomBytesMin = 4 << 20;
constexpr std::int64_t kHeadroomEveryUs = 500'000;
constexpr double kSampleBytesPerUs = 10;
constexpr std::int64_t kBatchCpuUsMax = 20'000;
constexpr std::int64_t kBatchWaitUsMax = 1'000'000;
constexpr auto kNever = std::numeric_limits<std::int64_t>::max();

std::int64_t thread_cpu_us() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1'000'000 + time.tv_nsec / 1'000;
}

bool is_number(SEXP value) {
  return (TYPEOF(value) == REALSXP || TYPEOF(value) == INTSXP || TYPEOF(value) == LGLSXP) &&
         Rf_xlength(value) == 1;
}

bool is_number_without_attributes(SEXP value) {
  return is_number(value) && ATTRIB(value) == R_NilValue;
}

bool are_equal_numbers(double one, double other) {
  return one == other || (std::isnan(one) && std::isnan(other));
}

}  // namespace

ChangeSampler::ChangeSampler(const std::vector<std::string>& names, Options options)
    : options_(std::move(options)),
      slot_variable_(names.size() * limits::kWatchedLargeMax),
      pinned_(names.size() * limits::kWatchedLargeMax),
      sender_({options_.frames, options_.out, names.size(), options_.last}),
      shared_records_(limits::kWatchedRecordsPerSecondAll / 2, limits::kWatchedRecordsBurstAll / 2, 1),
      small_bytes_(limits::kWatchedBytesPerSecond, limits::kWatchedBytesBurst, 0),
      large_bytes_(limits::kWatchedBytesPerSecond, limits::kWatchedBytesBurst, 0),
      began_us_(now_us()),
      sampling_(options_.resumes) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto name = parse_watch_name(names[i]);
    const auto parts = static_cast<double>(names.size());
    variables_.push_back(
        {.records = {limits::kWatchedRecordsPerSecond, limits::kWatchedRecordsBurst, 1},
         .own_records = {limits::kWatchedRecordsPerSecondAll / 2 / parts,
                         limits::kWatchedRecordsBurstAll / 2 / parts, 1},
         .time_us = {limits::kWatchedTimeShare * 1e6 / parts, limits::kWatchedTimeBurstUs / parts, 0}});
    if (!name) {
      refused_names_.emplace_back(i, name.error().detail);
      continue;
    }
    const SEXP symbol = Rf_installChar(
        Rf_mkCharLenCE(name->variable.data(), static_cast<int>(name->variable.size()), CE_UTF8));
    WatchedGlobal* global = find_global(symbol);
    if (global == nullptr) {
      globals_.push_back(std::make_unique<WatchedGlobal>(symbol));
      global = globals_.back().get();
      auto at = bucket_of(symbol);
      while (buckets_[at] != nullptr) at = (at + 1) & (kBuckets - 1);
      buckets_[at] = global;
    }
    global->variables.push_back(i);
    variables_[i].global = global;
    variables_[i].name = std::move(*name);
  }
}

bool ChangeSampler::start() {
  sender_.on_tick([this](std::int64_t now) {
    bool again = sender_.has_finished_slots();
    for (const auto& global : globals_) {
      if (global->due.load(std::memory_order_relaxed)) continue;
      if (again || global->due_at_us.load(std::memory_order_relaxed) <= now) {
        global->due.store(true, std::memory_order_relaxed);
      } else {
        again = true;
      }
    }
    return again;
  });
  if (!sender_.start()) return false;
  for (const auto& [index, reason] : refused_names_)
    send_without_value(variables_[index], index, now_us(), WatchedKind::problem, reason);
  return true;
}

void ChangeSampler::defer(WatchedGlobal& global, std::int64_t until) {
  global.due_at_us.store(until, std::memory_order_relaxed);
  global.due.store(false, std::memory_order_relaxed);
  sender_.request_ticks();
  R_wait_usec = kPollEveryUs;
}

void ChangeSampler::sample(WatchedGlobal& global) {
  if (sampling_) return;
  if (disabled_) return global.due.store(false, std::memory_order_relaxed);
  sampling_ = true;
  try {
    if (sender_.has_finished_slots()) unpin_finished();
    sample_now(global, false);
  } catch (const std::exception&) {
    defer(global, now_us() + 1'000'000);  // no memory: the value waits
  }
  sampling_ = false;
}

void ChangeSampler::sample_now(WatchedGlobal& global, bool is_final) {
  const auto now = now_us();
  const auto peeked = peek(global.symbol);
  const Protected kept(peeked.kind == PeekedValue::Kind::value ? peeked.value : R_NilValue);
  auto began = now;
  for (const auto index : global.variables) {
    auto& variable = variables_[index];
    if (!is_final && !has_pending_change(variable)) continue;
    if (!is_final && next_sample_at(variable, now) > now) continue;
    sampled_bytes_ = 0;
    sample_variable(variable, index, peeked, now, is_final);
    // Preemption is not counted: a small value never takes long.
    const auto longest = kSmallSampleUsMax + static_cast<double>(sampled_bytes_) / kSampleBytesPerUs;
    const auto ended = now_us();
    variable.time_us.spend(std::min(static_cast<double>(ended - began), longest), now);
    began = ended;
  }
  auto next = kNever;
  for (const auto index : global.variables) next = std::min(next, next_sample_at(variables_[index], now));
  if (next > now) defer(global, next);
}

std::int64_t ChangeSampler::next_sample_at(Variable& variable, std::int64_t now) {
  // Two buckets, so that one large value does not delay the small ones.
  auto& bytes = variable.is_large ? large_bytes_ : small_bytes_;
  const auto turn = std::min(variable.own_records.ready_at(now), shared_records_.ready_at(now));
  const auto when = std::max({now, variable.not_before_us, variable.records.ready_at(now), turn,
                              bytes.ready_at(now), variable.time_us.ready_at(now)});
  const bool room = sender_.has_room(static_cast<std::size_t>(&variable - variables_.data())) &&
                    variable.large_in_flight < limits::kWatchedLargeMax;
  return room ? when : std::max(when, now + kQueueRetryUs);
}

void ChangeSampler::spend_record(Variable& variable, std::int64_t now) {
  variable.records.spend(1, now);
  (variable.own_records.ready(now) ? variable.own_records : shared_records_).spend(1, now);
}

bool ChangeSampler::moved_enough(Variable& variable, SEXP value) const {
  if (variable.name.rule.kind != WatchRule::Kind::fraction || !variable.has_last_number || !is_number(value))
    return true;
  const double number = Rf_asReal(value);
  if (std::isnan(number) || std::isnan(variable.last_number))
    return std::isnan(number) != std::isnan(variable.last_number);
  return std::abs(number - variable.last_number) > variable.name.rule.amount * std::abs(variable.last_number);
}

// R copies a pinned vector before it writes to it: a job near its memory limit must not fail because of that.
bool ChangeSampler::has_headroom(std::size_t bytes) const {
  if (bytes < kHeadroomBytesMin) return true;
  const auto use = ::mallinfo2();
  return use.uordblks + use.hblkhd + bytes < options_.heap_bytes - options_.heap_bytes / 4;
}

void ChangeSampler::sample_variable(Variable& variable, std::size_t index, PeekedValue peeked,
                                    std::int64_t now, bool is_final) {
  variable.last_address = peeked.kind == PeekedValue::Kind::value ? peeked.value : nullptr;
  peeked = refuse_unshowable(peek_element(peeked, variable.name));
  variable.can_change_silently = peeked.in_environment;
  switch (peeked.kind) {
    case PeekedValue::Kind::unevaluated:
      variable.reported_changes = variable.global->changes;
      variable.maybe_changed = true;
      return;
    case PeekedValue::Kind::absent:
      if (variable.existed) return send_without_value(variable, index, now, WatchedKind::removed, {});
      if (is_final) return send_without_value(variable, index, now, WatchedKind::problem, "it never existed");
      variable.reported_changes = variable.global->changes;
      variable.maybe_changed = false;
      return;
    case PeekedValue::Kind::problem:
      variable.existed = true;
      return send_without_value(variable, index, now, WatchedKind::problem, peeked.reason);
    case PeekedValue::Kind::value:
      break;
  }
  const Protected kept(peeked.value);
  if (!is_final && !moved_enough(variable, peeked.value)) return;
  variable.existed = true;
  const auto shape = inspect(peeked.value, options_.value_bytes_max);
  sampled_bytes_ += shape.bytes;
  variable.can_change_silently =
      peeked.in_environment || shape.has_environments || Rf_inherits(peeked.value, "data.table");
  if (!shape.complete || shape.bytes > options_.value_bytes_max) {
    return send_without_value(variable, index, now, WatchedKind::problem,
                              std::format("it is larger than {} MB, the most that this job can show",
                                          options_.value_bytes_max >> 20));
  }
  variable.is_large = shape.bytes > limits::kWatchedInlineBytesMax;
  auto& bytes = variable.is_large ? large_bytes_ : small_bytes_;
  if (!is_final && !bytes.ready(now)) return;
  if (!is_final && !has_headroom(shape.bytes)) {
    variable.not_before_us = now + kHeadroomEveryUs;
    return;
  }
  int slot = -1;
  if (!shape.large.empty()) {
    slot = pinned_.pin(shape.large);
    if (slot < 0 && is_final) {
      sender_.drain();
      unpin_finished();
      slot = pinned_.pin(shape.large);
    }
    if (slot < 0) return;
    slot_variable_[static_cast<std::size_t>(slot)] = index;
    ++variable.large_in_flight;
  }
  Sample sample{.variable = index, .at_us = now - began_us_, .slot = slot};
  if (!serialize_into(sample.stream, peeked.value, shape, sample.reason)) {
    sample.kind = WatchedKind::problem;
    sample.stream = {};
  }
  const auto changes = variable.global->changes - variable.reported_changes;
  const bool counted = !variable.maybe_changed && (variable.name.steps.empty() || changes == 1);
  sample.changes = counted ? changes : 0;
  variable.reported_changes = variable.global->changes;
  variable.maybe_changed = false;
  variable.has_last_number = is_number(peeked.value);
  if (variable.has_last_number) variable.last_number = Rf_asReal(peeked.value);
  if (variable.name.rule.kind == WatchRule::Kind::seconds) {
    variable.not_before_us = now + static_cast<std::int64_t>(variable.name.rule.amount * 1e6);
  }
  spend_record(variable, now);
  bytes.spend(static_cast<double>(sample.stream.size()), now);
  sender_.enqueue(std::move(sample));
}

void ChangeSampler::send_without_value(Variable& variable, std::size_t index, std::int64_t now,
                                       WatchedKind kind, std::string reason) {
  const auto total = variable.global == nullptr ? 1 : variable.global->changes;
  const auto changes =
      variable.maybe_changed || !variable.name.steps.empty() ? 0 : total - variable.reported_changes;
  variable.reported_changes = total;
  variable.maybe_changed = false;
  variable.has_last_number = false;
  spend_record(variable, now);
  sender_.enqueue({.variable = index,
                   .changes = changes,
                   .at_us = now - began_us_,
                   .kind = kind,
                   .reason = std::move(reason)});
}

void ChangeSampler::unpin_finished() {
  for (const int slot : sender_.take_finished_slots()) {
    pinned_.unpin(slot);
    --variables_[slot_variable_[static_cast<std::size_t>(slot)]].large_in_flight;
  }
}

void ChangeSampler::begin_batch(WatchedGlobal& global, std::int64_t now) {
  global.in_batch = true;
  batch_began_us_ = now;
}

void ChangeSampler::mark_maybe_changed(WatchedGlobal& global) {
  global.sampled_in_batch = false;
  for (const auto index : global.variables) variables_[index].maybe_changed = true;
}

// Measured in CPU time, since a busy machine may have preempted this thread; by the clock only when the body
// waits, as a method of a class may.
bool ChangeSampler::batch_takes_long(std::int64_t now) {
  const auto took = now - batch_began_us_;
  if (took < kBatchCpuUsMax) return false;
  const auto cpu = thread_cpu_us();
  if (std::exchange(timed_batch_us_, batch_began_us_) != batch_began_us_) timed_batch_cpu_us_ = cpu;
  if (cpu - timed_batch_cpu_us_ < kBatchCpuUsMax && took < kBatchWaitUsMax) return false;
  batch_began_us_ = now;
  return true;
}

bool ChangeSampler::waits_for_batch(WatchedGlobal& global, bool batch_is_long) {
  if (!global.in_batch) return false;
  if (!batch_is_long) return true;
  mark_maybe_changed(global);
  global.sampled_in_batch = true;
  return false;
}

bool ChangeSampler::samples_each_change(const WatchedGlobal& global) const {
  return std::ranges::any_of(global.variables, [this](std::size_t index) {
    return variables_[index].name.rule.kind == WatchRule::Kind::fraction;
  });
}

void ChangeSampler::end_all_batches() {
  for (const auto& global : globals_) {
    if (std::exchange(global->in_batch, false)) mark_maybe_changed(*global);
  }
}

void ChangeSampler::resumed() {
  for (const auto& [index, last] : options_.last) {
    if (index < variables_.size()) variables_[index].existed = true;
  }
  sampling_ = false;
  check_all(true);
}

void ChangeSampler::check_all(bool thorough) {
  if (sampling_ || disabled_) return;
  const auto now = now_us();
  const bool batch_is_long = batch_takes_long(now);
  for (const auto& global : globals_) {
    if (waits_for_batch(*global, batch_is_long)) continue;
    const auto peeked = peek(global->symbol);
    const void* const value = peeked.kind == PeekedValue::Kind::value ? peeked.value : nullptr;
    for (const auto index : global->variables) {
      auto& variable = variables_[index];
      if (has_pending_change(variable)) continue;
      const bool same =
          value == variable.last_address ||
          (value != nullptr && variable.has_last_number && is_number_without_attributes(peeked.value) &&
           variable.name.steps.empty() && are_equal_numbers(Rf_asReal(peeked.value), variable.last_number));
      variable.maybe_changed = !same || (thorough && variable.can_change_silently);
    }
  }
  sample_pending(now, batch_is_long);
}

void ChangeSampler::poll() {
  if (sampling_ || disabled_) return;
  const auto now = now_us();
  sample_pending(now, batch_takes_long(now));
}

void ChangeSampler::sample_pending(std::int64_t now, bool batch_is_long) {
  if (sender_.has_finished_slots()) unpin_finished();
  bool waiting = false;
  for (const auto& global : globals_) {
    if (waits_for_batch(*global, batch_is_long)) {
      waiting = true;
      continue;
    }
    for (const auto index : global->variables) {
      if (!has_pending_change(variables_[index])) continue;
      if (global->due.load(std::memory_order_relaxed)) sample(*global);
      waiting = waiting || has_pending_change(variables_[index]);
      break;
    }
  }
  if (!waiting) R_wait_usec = 0;
  if (now < next_check_us_) return;
  next_check_us_ = now + kCheckAllEveryUs;
  check_all(true);
}

void ChangeSampler::finish() {
  if (disabled_) return;
  sampling_ = true;
  end_all_batches();
  for (const auto& global : globals_) {
    try {
      for (const auto index : global->variables)
        variables_[index].maybe_changed |= !has_pending_change(variables_[index]);
      sample_now(*global, true);
    } catch (const std::exception&) {
      continue;  // no memory: the last record stays the newest
    }
  }
  sender_.drain();
}

}  // namespace remotist::volunteer
