// The calls that R has under way, and calls that go on where a saved one stood.
//
// R keeps them in a chain of contexts whose layout it does not publish. Where the fields of one lie is found
// by a call of our own whose function, frame and caller are known: they must stand next to each other. If
// they do not, as in an R not yet known, there are no frames to be saved: then only what stands at the top
// level is.
//
// The code that makes a call may hold a value meanwhile, as the first of two summands: it lies below the call
// on the stack of R's byte code. Where, is found in the same way; where that fails, variables are used.
#include <cstdint>

#include "volunteer/runner/checkpoint/native.h"

extern "C" {
extern void* R_GlobalContext;
extern void* R_BCNodeStackTop;
}

namespace remotist::volunteer::checkpoint {

namespace {

constexpr int kUnknown = -1;
constexpr int kFunction = 4;  // CTXT_FUNCTION, a bit of the context's kind
int frame_at = kUnknown;      // in words: promargs, callfun, sysparent, call, cloenv, conexit

enum Field { kPromargs = -4, kCallfun = -3, kSysparent = -2, kCall = -1, kCloenv = 0, kOnExit = 1 };

void** next(void** context) {
  return static_cast<void**>(context[0]);
}
bool is_function(void** context) {
  return (*reinterpret_cast<int*>(context + 1) & kFunction) != 0;
}
SEXP field(void** context, Field which) {
  return static_cast<SEXP>(context[frame_at + which]);
}

// self_test <- function() .External2(self_test, self_test, parent.frame())
SEXP self_test(SEXP, SEXP, SEXP arguments, SEXP rho) {
  const SEXP function = CADR(arguments);
  const SEXP parent = CADDR(arguments);
  int found = 0;
  auto** context = static_cast<void**>(R_GlobalContext);
  // The foreign call itself may have a context.
  for (int depth = 0; depth < 3 && context != nullptr && found == 0; ++depth, context = next(context)) {
    for (int i = 8; i < 64; ++i) {
      if (context[i] == rho && context[i + kSysparent] == parent && context[i + kCallfun] == function) {
        ++found;
        if (is_function(context)) frame_at = i;
      }
    }
  }
  if (found != 1) frame_at = kUnknown;
  return Rf_ScalarLogical(frame_at != kUnknown);
}

void** context_of(SEXP rho) {
  if (frame_at == kUnknown) return nullptr;
  for (auto** c = static_cast<void**>(R_GlobalContext); c != nullptr; c = next(c)) {
    if (is_function(c) && field(c, kCloenv) == rho) return c;
  }
  return nullptr;
}

// All calls under way but the newest `newest` ones, the oldest first.
SEXP frames(SEXP newest) {
  if (frame_at == kUnknown) return R_NilValue;
  std::vector<void**> chain;
  for (auto** c = static_cast<void**>(R_GlobalContext); c != nullptr; c = next(c)) {
    if (is_function(c)) chain.push_back(c);
  }
  const auto skip = static_cast<std::size_t>(Rf_asInteger(newest));
  const std::size_t count = chain.size() > skip ? chain.size() - skip : 0;
  const Kept all(Rf_allocVector(VECSXP, static_cast<R_xlen_t>(count)));
  const Kept names(Rf_allocVector(STRSXP, 6));
  const char* const called[] = {"fn", "env", "call", "parent", "promargs", "conexit"};
  for (int i = 0; i < 6; ++i) SET_STRING_ELT(names, i, Rf_mkChar(called[i]));
  for (std::size_t i = 0; i < count; ++i) {
    void** const c = chain[chain.size() - 1 - i];
    const SEXP one = Rf_allocVector(VECSXP, 6);
    SET_VECTOR_ELT(all, static_cast<R_xlen_t>(i), one);
    SET_VECTOR_ELT(one, 0, field(c, kCallfun));
    SET_VECTOR_ELT(one, 1, field(c, kCloenv));
    SET_VECTOR_ELT(one, 2, field(c, kCall));
    SET_VECTOR_ELT(one, 3, field(c, kSysparent));
    SET_VECTOR_ELT(one, 4, field(c, kPromargs));
    SET_VECTOR_ELT(one, 5, field(c, kOnExit));
    Rf_setAttrib(one, R_NamesSymbol, names);
  }
  return all;
}

// .External2(go_on, frame, code): the closure that calls this becomes the call that was saved.
SEXP go_on(SEXP, SEXP, SEXP arguments, SEXP rho) {
  const SEXP frame = CADR(arguments);
  const SEXP code = CADDR(arguments);
  void** const c = context_of(rho);
  if (c == nullptr) Rf_error("the layout of R's contexts is not known");
  const SEXP env = VECTOR_ELT(frame, 1);
  c[frame_at + kCloenv] = env;
  c[frame_at + kCallfun] = VECTOR_ELT(frame, 0);
  c[frame_at + kCall] = VECTOR_ELT(frame, 2);
  c[frame_at + kSysparent] = VECTOR_ELT(frame, 3);
  c[frame_at + kPromargs] = VECTOR_ELT(frame, 4);
  c[frame_at + kOnExit] = VECTOR_ELT(frame, 5);
  return Rf_eval(code, env);
}

// A place on the stack of R's byte code.
struct Slot {
  int type;  // 0 for an object, the kind of a bare number otherwise
  int flags;
  union {
    int whole;
    double number;
    SEXP object;
  } value;
};
constexpr int kMemory = 254;  // RAWMEM_TAG: that many slots behind it are no values
int stack_at = kUnknown;      // in words: the top of that stack when the context was begun

bool is_object(const Slot* slot, SEXP object) {
  return slot->type == 0 && slot->value.object == object;
}

// The value below a call, whose three slots end before `end`; nullptr when it is not this call.
const Slot* below_call(const Slot* end, SEXP function) {
  return is_object(end - 3, function) ? end - 4 : nullptr;
}

// Called from byte code, a context lies on that stack itself, else the stack's top is among its fields.
const Slot* below(void** context) {
  const SEXP function = field(context, kCallfun);
  const auto* const top = static_cast<const Slot*>(R_BCNodeStackTop);
  constexpr std::ptrdiff_t kMost = 300000;  // R_BCNODESTACKSIZE
  const auto* const own = reinterpret_cast<const Slot*>(context);
  if (own < top && own > top - kMost)
    return own[-1].type == kMemory ? below_call(own - 1, function) : nullptr;
  return stack_at == kUnknown ? nullptr : below_call(static_cast<const Slot*>(context[stack_at]), function);
}

// stack_test(call, expected): `expected` is the value below the newest call, whose function is `call`.
SEXP stack_test(SEXP frame, SEXP expected) {
  void** const c = context_of(frame);
  if (c == nullptr) return Rf_ScalarLogical(FALSE);
  const auto top = reinterpret_cast<std::uintptr_t>(R_BCNodeStackTop);
  for (int i = frame_at + kOnExit + 1; i < frame_at + 32 && stack_at == kUnknown; ++i) {
    const auto word = reinterpret_cast<std::uintptr_t>(c[i]);
    if (word > top || word + 4096 < top || word % alignof(Slot) != 0) continue;
    const Slot* const value = below_call(static_cast<const Slot*>(c[i]), field(c, kCallfun));
    if (value != nullptr && is_object(value, expected)) stack_at = i;
  }
  const Slot* const value = below(c);
  return Rf_ScalarLogical(value != nullptr && is_object(value, expected));
}

// The value that the caller of the frame `rho` holds meanwhile, in a list; NULL when it cannot be told.
// Requires that it holds one.
SEXP held_value(SEXP rho) {
  void** const c = context_of(rho);
  const Slot* const slot = c == nullptr ? nullptr : below(c);
  if (slot == nullptr) return R_NilValue;
  const Kept list(Rf_allocVector(VECSXP, 1));
  switch (slot->type) {
    case 0:
      SET_VECTOR_ELT(list, 0, slot->value.object);
      return list;
    case REALSXP:
      SET_VECTOR_ELT(list, 0, Rf_ScalarReal(slot->value.number));
      return list;
    case INTSXP:
      SET_VECTOR_ELT(list, 0, Rf_ScalarInteger(slot->value.whole));
      return list;
    case LGLSXP:
      SET_VECTOR_ELT(list, 0, Rf_ScalarLogical(slot->value.whole));
      return list;
    default:
      return R_NilValue;
  }
}

// Whether the two are one object.
SEXP same(SEXP a, SEXP b) {
  return Rf_ScalarLogical(a == b);
}

// As lapply does it in C: the call is made in the frame `rho`, its first `n` arguments are forced.
SEXP force_call(SEXP call, SEXP n, SEXP rho) {
  return R_forceAndCall(call, Rf_asInteger(n), rho);
}

}  // namespace

std::vector<Routine> frame_routines() {
  return {routine("self_test", self_test),   routine("frames", frames),
          routine("go_on", go_on),           routine("same", same),
          routine("force_call", force_call), routine("stack_test", stack_test),
          routine("held_value", held_value)};
}

}  // namespace remotist::volunteer::checkpoint
