// The flag that compiled code looks at, the clock that raises it, and the strips that a long `for` is cut
// into.
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
// Raised at each safe point when they are counted, so that the n-th can be asked for.
std::atomic<bool> always_up{false};

// Safe points that were seen while the flag was up, and at which of them a checkpoint is wanted: at all when
// none is named, and at the next one when it could not be had where it was.
std::int64_t seen = 0;
std::vector<std::int64_t> wanted_at;
bool is_owed = false;

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

// The thread touches nothing of R but the flag's word.
SEXP arm(SEXP ms) {
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

// want_at(numbers): counts from the beginning.
SEXP want_at(SEXP numbers) {
  seen = 0;
  is_owed = false;
  wanted_at.clear();
  for (R_xlen_t i = 0; i < Rf_xlength(numbers); ++i) wanted_at.push_back(INTEGER_ELT(numbers, i));
  return R_NilValue;
}

SEXP owe(SEXP owed) {
  is_owed = Rf_asLogical(owed) == TRUE;
  return R_NilValue;
}

SEXP seen_so_far() {
  return Rf_ScalarInteger(static_cast<int>(std::min<std::int64_t>(seen, INT_MAX)));
}

SEXP wanted_here() {
  return Rf_ScalarLogical(is_wanted_here());
}

// What `for` goes over, as a plain vector that can be cut: `for` itself takes no notice of classes but of
// factors.
SEXP sequence(SEXP s, SEXP loop) {
  if (Rf_isVector(s) == FALSE && Rf_isList(s) == FALSE && TYPEOF(s) != LANGSXP)
    Rf_errorcall(loop, "invalid for() loop sequence");
  if (Rf_inherits(s, "factor")) return Rf_asCharacterFactor(s);
  if (TYPEOF(s) == LISTSXP || TYPEOF(s) == LANGSXP) {
    const Kept list(Rf_allocVector(VECSXP, Rf_length(s)));
    R_xlen_t i = 0;
    for (SEXP rest = s; rest != R_NilValue; rest = CDR(rest)) SET_VECTOR_ELT(list, i++, CAR(rest));
    return list;
  }
  if (!Rf_isObject(s) || !Rf_isVector(s)) return s;
  const Kept plain(Rf_shallow_duplicate(s));
  SET_ATTRIB(plain, R_NilValue);
  SET_OBJECT(plain, 0);
  return plain;
}

SEXP part(SEXP s, R_xlen_t from, R_xlen_t length) {
  if (!Rf_isVector(s)) Rf_error("invalid for() loop sequence");
  return slice(s, from, length);
}

struct Pace {
  R_xlen_t length = 1;  // the first element may take long
  double began = 0;
  R_xlen_t given = 0;
};
std::unordered_map<int, Pace> paces;

// The next strip of `s` behind `done` elements.
SEXP strip(SEXP s, SEXP done, SEXP loop) {
  const auto from = static_cast<R_xlen_t>(Rf_asReal(done));
  return part(s, from, strip_length(Rf_asInteger(loop), from, Rf_xlength(s)));
}

// What is left of `s` behind `done` elements.
SEXP rest(SEXP s, SEXP done) {
  const auto from = static_cast<R_xlen_t>(Rf_asReal(done));
  return part(s, from, std::max<R_xlen_t>(0, Rf_xlength(s) - from));
}

// Is a bound one plain number above `few`? What R has to complain about is not.
SEXP is_many(SEXP bound, SEXP few) {
  const bool number = (TYPEOF(bound) == INTSXP || TYPEOF(bound) == REALSXP) && Rf_isObject(bound) == FALSE &&
                      Rf_xlength(bound) == 1;
  return Rf_ScalarLogical(number && Rf_asReal(bound) > Rf_asReal(few));
}

// The same of the length of what has no length() of its own. Asked so often that each argument counts.
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
  // Or the compiler would take a constant of the script for it.
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
    // ScalarLogical() would yield R's own FALSE.
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
  return wanted_at.empty() || is_owed || std::ranges::contains(wanted_at, seen);
}

R_xlen_t strip_length(int loop, R_xlen_t done, R_xlen_t total) {
  constexpr double kShort = 0.0005;
  constexpr double kLong = 0.002;
  constexpr R_xlen_t kMost = 1 << 16;
  constexpr R_xlen_t kCounted = 64;
  auto& pace = paces[loop];
  const double now = now_s();
  // Counted safe points must be the same ones in each run.
  if (always_up) return std::min(kCounted, total - done);
  if (done > 0 && pace.given > 0) {
    const double took = now - pace.began;
    if (took < kShort && pace.length < kMost) pace.length *= 2;
    if (took > kLong && pace.length > 1) pace.length = std::max<R_xlen_t>(1, pace.length / 2);
  }
  pace.began = now;
  pace.given = std::min(pace.length, total - done);
  return pace.given;
}

std::vector<Routine> loop_routines() {
  return {routine("flag", flag),         routine("arm", arm),
          routine("set_flag", set_flag), routine("keep_raised", keep_raised),
          routine("sequence", sequence), routine("strip", strip),
          routine("rest", rest),         routine("now", now),
          routine("is_many", is_many),   routine("has_many", has_many),
          routine("want_at", want_at),   routine("owe", owe),
          routine("seen", seen_so_far),  routine("wanted_here", wanted_here)};
}

}  // namespace remotist::volunteer::checkpoint
