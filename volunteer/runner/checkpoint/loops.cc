// The flag that compiled code tests at safe points, the timer that raises it, and the batches into which a
// long `for` is divided.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <ctime>
#include <unordered_map>

#include "volunteer/runner/checkpoint/native.h"
#include "volunteer/runner/side_thread.h"
#include "volunteer/runner/slice.h"

namespace remotist::volunteer::checkpoint {

namespace {

constexpr std::size_t kStackBytes = 64 << 10;

int* flag_word = nullptr;
int* flag_word_in_code = nullptr;
// Safe points are counted: the flag stays up, so that a checkpoint can be taken at the n-th.
std::atomic<bool> always_up{false};

// Safe points that were reached while the flag was up, and the numbers of those at which a checkpoint is
// wanted: at all if the list is empty, and at the next one if it was refused where it was wanted.
std::int64_t seen = 0;
std::vector<std::int64_t> wanted_at;
bool is_pending = false;

double now_s() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void* sleep_and_raise(void* what) {
  const auto us = reinterpret_cast<std::intptr_t>(what);
  const timespec pause{us / 1000000, (us % 1000000) * 1000};
  ::nanosleep(&pause, nullptr);
  raise_flag(true);
  return nullptr;
}

// The thread writes the flags' words and touches nothing else of R.
SEXP raise_flag_after(SEXP ms) {
  const auto us = static_cast<std::intptr_t>(Rf_asReal(ms) * 1000);
  start_side_thread(kStackBytes, sleep_and_raise, reinterpret_cast<void*>(us));
  return R_NilValue;
}

SEXP set_flag(SEXP up) {
  raise_flag(Rf_asLogical(up) == TRUE);
  return R_NilValue;
}

SEXP keep_raised(SEXP up) {
  always_up = Rf_asLogical(up) == TRUE;
  raise_flag(always_up);
  return R_NilValue;
}

SEXP flag() {
  return the_flag();
}

// want_at(numbers): starts counting safe points at 0.
SEXP want_at(SEXP numbers) {
  seen = 0;
  is_pending = false;
  wanted_at.clear();
  for (R_xlen_t i = 0; i < Rf_xlength(numbers); ++i) wanted_at.push_back(INTEGER_ELT(numbers, i));
  return R_NilValue;
}

SEXP set_pending(SEXP pending) {
  is_pending = Rf_asLogical(pending) == TRUE;
  return R_NilValue;
}

SEXP safe_points_seen() {
  return Rf_ScalarInteger(static_cast<int>(std::min<std::int64_t>(seen, INT_MAX)));
}

SEXP wanted_here() {
  return Rf_ScalarLogical(is_wanted_here());
}

// The sequence of a `for` as a vector without class: `for` itself ignores classes, except factor.
SEXP sequence(SEXP s, SEXP loop) {
  if (Rf_isVector(s) == FALSE && Rf_isList(s) == FALSE && TYPEOF(s) != LANGSXP)
    Rf_errorcall(loop, "invalid for() loop sequence");
  if (Rf_inherits(s, "factor")) return Rf_asCharacterFactor(s);
  if (TYPEOF(s) == LISTSXP || TYPEOF(s) == LANGSXP) {
    const Protected list(Rf_allocVector(VECSXP, Rf_length(s)));
    R_xlen_t i = 0;
    for (SEXP rest = s; rest != R_NilValue; rest = CDR(rest)) SET_VECTOR_ELT(list, i++, CAR(rest));
    return list;
  }
  if (!Rf_isObject(s) || !Rf_isVector(s)) return s;
  const Protected plain(Rf_shallow_duplicate(s));
  SET_ATTRIB(plain, R_NilValue);
  SET_OBJECT(plain, 0);
  return plain;
}

SEXP part(SEXP s, R_xlen_t from, R_xlen_t length) {
  if (!Rf_isVector(s)) Rf_error("invalid for() loop sequence");
  return slice(s, from, length);
}

struct BatchSize {
  R_xlen_t length = 1;  // starts at 1, since an element may take long
  double began = 0;
  R_xlen_t elements = 0;
};
std::unordered_map<int, BatchSize> batch_sizes;

// The next batch of `s` after `done` elements.
SEXP next_batch(SEXP s, SEXP done, SEXP loop) {
  const auto from = static_cast<R_xlen_t>(Rf_asReal(done));
  return part(s, from, batch_length(Rf_asInteger(loop), from, Rf_xlength(s)));
}

// The rest of `s` after `done` elements.
SEXP rest(SEXP s, SEXP done) {
  const auto from = static_cast<R_xlen_t>(Rf_asReal(done));
  return part(s, from, std::max<R_xlen_t>(0, Rf_xlength(s) - from));
}

// Whether a bound is a single number above `few`. False for anything that R must reject.
SEXP is_many(SEXP bound, SEXP few) {
  const bool number = (TYPEOF(bound) == INTSXP || TYPEOF(bound) == REALSXP) && Rf_isObject(bound) == FALSE &&
                      Rf_xlength(bound) == 1;
  return Rf_ScalarLogical(number && Rf_asReal(bound) > Rf_asReal(few));
}

// The same for the length of a vector without class. Called so often that it has one argument only.
SEXP has_many(SEXP values) {
  constexpr R_xlen_t kFew = 512;
  return Rf_ScalarLogical(Rf_isVector(values) != FALSE && Rf_isObject(values) == FALSE &&
                          Rf_xlength(values) > kFew);
}

SEXP now() {
  return Rf_ScalarReal(now_s());
}

SEXP marked_flag(SEXP flag) {
  R_PreserveObject(flag);
  // So that the compiler does not merge it with an equal constant of the script.
  Rf_setAttrib(flag, Rf_install("remotist.flag"), Rf_ScalarLogical(TRUE));
  MARK_NOT_MUTABLE(flag);
  return flag;
}

void store(int* word, bool up) {
  if (word != nullptr) std::atomic_ref(*word).store(up ? 1 : 0, std::memory_order_relaxed);
}
}  // namespace

SEXP the_flag() {
  static SEXP flag = nullptr;
  if (flag == nullptr) {
    flag = marked_flag(Rf_allocVector(INTSXP, 1));
    flag_word = INTEGER(flag);
    store(flag_word, false);
  }
  return flag;
}

SEXP flag_in_code() {
  static SEXP flag = nullptr;
  if (flag == nullptr) {
    // ScalarLogical() would return R's shared FALSE.
    flag = marked_flag(Rf_allocVector(LGLSXP, 1));
    flag_word_in_code = LOGICAL(flag);
    store(flag_word_in_code, flag_word != nullptr && *flag_word != 0);
  }
  return flag;
}

void raise_flag(bool up) {
  store(flag_word, up || always_up);
  store(flag_word_in_code, up || always_up);
}

bool is_wanted_here() {
  ++seen;
  return wanted_at.empty() || is_pending || std::ranges::contains(wanted_at, seen);
}

R_xlen_t batch_length(int loop, R_xlen_t done, R_xlen_t total) {
  constexpr double kShortSeconds = 0.0005;
  constexpr double kLongSeconds = 0.002;
  constexpr R_xlen_t kElementsMax = 1 << 16;
  constexpr R_xlen_t kElementsWhenCounted = 64;
  auto& size = batch_sizes[loop];
  const double now = now_s();
  // Counted safe points must be the same in each run.
  if (always_up) return std::min(kElementsWhenCounted, total - done);
  if (done > 0 && size.elements > 0) {
    const double took = now - size.began;
    if (took < kShortSeconds && size.length < kElementsMax) size.length *= 2;
    if (took > kLongSeconds && size.length > 1) size.length = std::max<R_xlen_t>(1, size.length / 2);
  }
  size.began = now;
  size.elements = std::min(size.length, total - done);
  return size.elements;
}

std::vector<Routine> loop_routines() {
  return {routine("flag", flag),
          routine("raise_flag_after", raise_flag_after),
          routine("set_flag", set_flag),
          routine("keep_raised", keep_raised),
          routine("sequence", sequence),
          routine("next_batch", next_batch),
          routine("rest", rest),
          routine("now", now),
          routine("is_many", is_many),
          routine("has_many", has_many),
          routine("want_at", want_at),
          routine("set_pending", set_pending),
          routine("safe_points_seen", safe_points_seen),
          routine("is_wanted_here", wanted_here)};
}

}  // namespace remotist::volunteer::checkpoint
