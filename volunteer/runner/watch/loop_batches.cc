#include "volunteer/runner/watch/loop_batches.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "volunteer/runner/native_symbol.h"
#include "volunteer/runner/slice.h"

namespace remotist::volunteer {

namespace {

constexpr R_xlen_t kIterationsMin = 64;  // iterations
constexpr R_xlen_t kBatchMax = 1 << 16;
constexpr std::int64_t kShortBatchUs = 500;
constexpr std::int64_t kLongBatchUs = 2'000;

struct Loop {
  std::vector<WatchedGlobal*> globals;  // each is changed once in an iteration
  SEXP sequence = nullptr;              // a list of one
  SEXP call = nullptr;                  // the script's own, for errors
  R_xlen_t next = 0;                    // first element that has not been counted
  R_xlen_t batch = 0;                   // iterations of the present batch; 0: none is running
  R_xlen_t length = 1;                  // of the next batch, adapted to the time that the last one took
  std::int64_t began_us = 0;
};

ChangeSampler* batch_sampler = nullptr;
std::vector<Loop> loops;

Loop& loop_of(SEXP number) {
  return loops[static_cast<std::size_t>(INTEGER_ELT(number, 0))];
}

SEXP sequence_of(const Loop& loop) {
  return VECTOR_ELT(loop.sequence, 0);
}

// Not pairlists, which `for` accepts too, nor factors, of which it makes strings.
bool can_be_batched(SEXP sequence) {
  switch (TYPEOF(sequence)) {
    case LGLSXP:
    case INTSXP:
    case REALSXP:
    case STRSXP:
    case VECSXP:
      return Rf_isObject(sequence) == FALSE && Rf_xlength(sequence) >= kIterationsMin;
    default:
      return false;
  }
}

SEXP new_loop(SEXP globals, SEXP call) {
  Loop loop{};
  for (R_xlen_t i = 0; i < Rf_xlength(globals); ++i) {
    loop.globals.push_back(
        batch_sampler->globals()[static_cast<std::size_t>(INTEGER_ELT(globals, i) - 1)].get());
    if (batch_sampler->samples_each_change(*loop.globals.back())) return R_NilValue;
  }
  loop.sequence = Rf_allocVector(VECSXP, 1);
  loop.call = call;
  R_PreserveObject(loop.sequence);
  R_PreserveObject(call);
  loops.push_back(std::move(loop));
  return Rf_ScalarInteger(static_cast<int>(loops.size() - 1));
}

SEXP begin_loop(SEXP number, SEXP sequence) {
  Loop& loop = loop_of(number);
  if (Rf_isVector(sequence) == FALSE && Rf_isList(sequence) == FALSE)
    Rf_errorcall(loop.call, "invalid for() loop sequence");
  SET_VECTOR_ELT(loop.sequence, 0, sequence);
  loop.next = 0;
  loop.batch = 0;
  return Rf_ScalarLogical(can_be_batched(sequence) ? TRUE : FALSE);
}

void end_batch(Loop& loop) {
  for (WatchedGlobal* const global : loop.globals)
    batch_sampler->end_batch(*global, static_cast<std::uint64_t>(loop.batch));
  loop.next += loop.batch;
}

void adapt_length(Loop& loop, std::int64_t now) {
  const auto took = now - loop.began_us;
  if (took < kShortBatchUs && loop.batch == loop.length) loop.length = std::min(loop.length * 2, kBatchMax);
  if (took > kLongBatchUs) loop.length = std::max<R_xlen_t>(1, loop.length / 4);
}

SEXP next_batch(SEXP number) {
  Loop& loop = loop_of(number);
  const auto length = Rf_xlength(sequence_of(loop));
  if (loop.batch > 0) {
    adapt_length(loop, now_us());
    end_batch(loop);
    loop.batch = 0;
  }
  if (loop.next >= length) {
    SET_VECTOR_ELT(loop.sequence, 0, R_NilValue);
    return Rf_ScalarLogical(FALSE);
  }
  const bool is_due = std::ranges::any_of(
      loop.globals, [](const WatchedGlobal* global) { return global->due.load(std::memory_order_relaxed); });
  loop.batch = is_due ? 1 : std::min(loop.length, length - loop.next);
  loop.began_us = now_us();
  for (WatchedGlobal* const global : loop.globals) batch_sampler->begin_batch(*global, loop.began_us);
  return Rf_ScalarLogical(TRUE);
}

SEXP batch_elements(SEXP number) {
  const Loop& loop = loop_of(number);
  return slice(sequence_of(loop), loop.next, loop.batch);
}

SEXP all_elements(SEXP number) {
  const Loop& loop = loop_of(number);
  const Protected sequence(sequence_of(loop));
  SET_VECTOR_ELT(loop.sequence, 0, R_NilValue);
  return sequence;
}

}  // namespace

SEXP batch_functions(ChangeSampler& to) {
  batch_sampler = &to;
  return native_symbols({{"new_loop", new_loop},
                         {"begin_loop", begin_loop},
                         {"next_batch", next_batch},
                         {"batch_elements", batch_elements},
                         {"all_elements", all_elements}});
}

}  // namespace remotist::volunteer
