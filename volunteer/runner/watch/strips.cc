#include "volunteer/runner/watch/strips.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "volunteer/runner/native_symbol.h"
#include "volunteer/runner/slice.h"

namespace remotist::volunteer {

namespace {

constexpr R_xlen_t kWorthIt = 64;  // iterations
constexpr R_xlen_t kStripMost = 1 << 16;
constexpr std::int64_t kShortUs = 500;
constexpr std::int64_t kLongUs = 2'000;

struct Loop {
  std::vector<Root*> roots;  // each of them is changed once in an iteration
  SEXP sequence = nullptr;   // a list of one
  SEXP call = nullptr;       // as the script has it
  R_xlen_t next = 0;
  R_xlen_t given = 0;   // in the strip under way
  R_xlen_t length = 1;  // of a strip, as it was learned
  std::int64_t began_us = 0;
};

Gate* gate = nullptr;
std::vector<Loop> loops;

std::int64_t now_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

Loop& loop_of(SEXP number) {
  return loops[static_cast<std::size_t>(INTEGER_ELT(number, 0))];
}

SEXP sequence_of(const Loop& loop) {
  return VECTOR_ELT(loop.sequence, 0);
}

// `for` goes over some other things, too, and makes something else of a factor.
bool can_be_cut(SEXP sequence) {
  switch (TYPEOF(sequence)) {
    case LGLSXP:
    case INTSXP:
    case REALSXP:
    case STRSXP:
    case VECSXP:
      return Rf_isObject(sequence) == FALSE && Rf_xlength(sequence) >= kWorthIt;
    default:
      return false;
  }
}

SEXP new_loop(SEXP roots, SEXP call) {
  Loop loop{};
  for (R_xlen_t i = 0; i < Rf_xlength(roots); ++i) {
    loop.roots.push_back(gate->roots()[static_cast<std::size_t>(INTEGER_ELT(roots, i) - 1)].get());
    if (gate->looks_at_each_change(*loop.roots.back())) return R_NilValue;
  }
  loop.sequence = Rf_allocVector(VECSXP, 1);
  loop.call = call;
  R_PreserveObject(loop.sequence);
  R_PreserveObject(call);
  loops.push_back(std::move(loop));
  return Rf_ScalarInteger(static_cast<int>(loops.size() - 1));
}

SEXP begin(SEXP number, SEXP sequence) {
  Loop& loop = loop_of(number);
  if (Rf_isVector(sequence) == FALSE && Rf_isList(sequence) == FALSE)
    Rf_errorcall(loop.call, "invalid for() loop sequence");
  SET_VECTOR_ELT(loop.sequence, 0, sequence);
  loop.next = 0;
  loop.given = 0;
  return Rf_ScalarLogical(can_be_cut(sequence) ? TRUE : FALSE);
}

void end_strip(Loop& loop) {
  for (Root* const root : loop.roots) gate->end_strip(*root, static_cast<std::uint64_t>(loop.given));
  loop.next += loop.given;
}

void learn(Loop& loop, std::int64_t now) {
  const auto took = now - loop.began_us;
  if (took < kShortUs && loop.given == loop.length) loop.length = std::min(loop.length * 2, kStripMost);
  if (took > kLongUs) loop.length = std::max<R_xlen_t>(1, loop.length / 4);
}

SEXP more(SEXP number) {
  Loop& loop = loop_of(number);
  const auto length = Rf_xlength(sequence_of(loop));
  if (loop.given > 0) {
    learn(loop, now_us());
    end_strip(loop);
    loop.given = 0;
  }
  if (loop.next >= length) {
    SET_VECTOR_ELT(loop.sequence, 0, R_NilValue);
    return Rf_ScalarLogical(FALSE);
  }
  const bool watched_now = std::ranges::any_of(
      loop.roots, [](const Root* root) { return root->open.load(std::memory_order_relaxed); });
  loop.given = watched_now ? 1 : std::min(loop.length, length - loop.next);
  loop.began_us = now_us();
  for (Root* const root : loop.roots) gate->begin_strip(*root, loop.began_us);
  return Rf_ScalarLogical(TRUE);
}

SEXP strip(SEXP number) {
  const Loop& loop = loop_of(number);
  return slice(sequence_of(loop), loop.next, loop.given);
}

SEXP whole(SEXP number) {
  const Loop& loop = loop_of(number);
  const Kept sequence(sequence_of(loop));
  SET_VECTOR_ELT(loop.sequence, 0, R_NilValue);
  return sequence;
}

}  // namespace

SEXP strip_functions(Gate& to) {
  gate = &to;
  return native_symbols(
      {{"new_loop", new_loop}, {"begin", begin}, {"more", more}, {"strip", strip}, {"whole", whole}});
}

}  // namespace remotist::volunteer
