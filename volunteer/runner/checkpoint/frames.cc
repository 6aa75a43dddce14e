// R's call frames: reading those in progress, and replacing a new one by one that was saved.
//
// R keeps them in a chain of contexts whose layout is not public. self_test() finds the offsets of the fields
// by a call whose function, frame and caller are known: they must be adjacent. If they are not, as in an
// unknown version of R, frames() yields NULL, and checkpoints are possible at the top level only.
//
// The code that makes a call may have an operand on R's byte code stack meanwhile, such as the first of two
// summands: it is below the call. stack_test() finds out where; if that fails, such operands are kept in
// variables.
#include <cstdint>

#include "volunteer/runner/checkpoint/native.h"

extern "C" {
extern void* R_GlobalContext;
extern void* R_BCNodeStackTop;
SEXP PRVALUE(SEXP);
}

namespace remotist::volunteer::checkpoint {

namespace {

constexpr int kUnknown = -1;
constexpr int kFunction = 4;  // CTXT_FUNCTION, a bit of the context's kind
constexpr int kGeneric = 20;  // CTXT_GENERIC, the kind of a context that is dispatching to a method
int frame_at = kUnknown;      // in words: promargs, callfun, sysparent, call, cloenv, conexit

enum Field { kPromargs = -4, kCallfun = -3, kSysparent = -2, kCall = -1, kCloenv = 0, kOnExit = 1 };

void** next(void** context) {
  return static_cast<void**>(context[0]);
}
int kind(void** context) {
  return *reinterpret_cast<int*>(context + 1);
}
bool is_function(void** context) {
  return (kind(context) & kFunction) != 0;
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

// All calls in progress but the newest `newest` ones, the oldest first.
SEXP frames(SEXP newest) {
  if (frame_at == kUnknown) return R_NilValue;
  std::vector<void**> chain;
  for (auto** c = static_cast<void**>(R_GlobalContext); c != nullptr; c = next(c)) {
    if (is_function(c)) chain.push_back(c);
  }
  const auto skip = static_cast<std::size_t>(Rf_asInteger(newest));
  const std::size_t count = chain.size() > skip ? chain.size() - skip : 0;
  const Protected all(Rf_allocVector(VECSXP, static_cast<R_xlen_t>(count)));
  const Protected names(Rf_allocVector(STRSXP, 7));
  const char* const called[] = {"fn", "env", "call", "parent", "promargs", "conexit", "dispatches"};
  for (int i = 0; i < 7; ++i) SET_STRING_ELT(names, i, Rf_mkChar(called[i]));
  for (std::size_t i = 0; i < count; ++i) {
    void** const c = chain[chain.size() - 1 - i];
    const SEXP one = Rf_allocVector(VECSXP, 7);
    SET_VECTOR_ELT(all, static_cast<R_xlen_t>(i), one);
    SET_VECTOR_ELT(one, 0, field(c, kCallfun));
    SET_VECTOR_ELT(one, 1, field(c, kCloenv));
    SET_VECTOR_ELT(one, 2, field(c, kCall));
    SET_VECTOR_ELT(one, 3, field(c, kSysparent));
    SET_VECTOR_ELT(one, 4, field(c, kPromargs));
    SET_VECTOR_ELT(one, 5, field(c, kOnExit));
    SET_VECTOR_ELT(one, 6, Rf_ScalarLogical(kind(c) == kGeneric));
    Rf_setAttrib(one, R_NamesSymbol, names);
  }
  return all;
}

// .External2(resume_frame, frame, code): the context of the calling closure becomes that of the saved frame;
// then the code is evaluated in it.
SEXP resume_frame(SEXP, SEXP, SEXP arguments, SEXP rho) {
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

// A slot of R's byte code stack.
struct Slot {
  int type;  // 0 for an object, else the type of an unboxed number
  int flags;
  union {
    int whole;
    double number;
    SEXP object;
  } value;
};
constexpr int kMemory = 254;  // RAWMEM_TAG: the slots after it are raw memory
int stack_at = kUnknown;      // in words: the top of that stack when the context was created

bool is_object(const Slot* slot, SEXP object) {
  return slot->type == 0 && slot->value.object == object;
}

// The value below a call, whose three slots end before `end`; nullptr when it is not this call.
const Slot* below_call(const Slot* end, SEXP function) {
  return is_object(end - 3, function) ? end - 4 : nullptr;
}

// A context that byte code created is on that stack itself; otherwise the stack's top is one of its fields.
const Slot* value_below(void** context) {
  const SEXP function = field(context, kCallfun);
  const auto* const top = static_cast<const Slot*>(R_BCNodeStackTop);
  constexpr std::ptrdiff_t kMost = 300000;  // R_BCNODESTACKSIZE
  const auto* const own = reinterpret_cast<const Slot*>(context);
  if (own < top && own > top - kMost)
    return own[-1].type == kMemory ? below_call(own - 1, function) : nullptr;
  return stack_at == kUnknown ? nullptr : below_call(static_cast<const Slot*>(context[stack_at]), function);
}

// stack_test(frame, expected): whether `expected` is found as the value below the call with this frame.
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
  const Slot* const value = value_below(c);
  return Rf_ScalarLogical(value != nullptr && is_object(value, expected));
}

// The operand that the caller of the frame `rho` has on the stack, in a list; NULL when it cannot be found.
// Requires that there is one.
SEXP stack_value(SEXP rho) {
  void** const c = context_of(rho);
  const Slot* const slot = c == nullptr ? nullptr : value_below(c);
  if (slot == nullptr) return R_NilValue;
  const Protected list(Rf_allocVector(VECSXP, 1));
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

// The value of a variable of a frame; NULL when it is an argument that has not been evaluated.
SEXP evaluated(SEXP frame, SEXP name) {
  const SEXP value = Rf_findVarInFrame(frame, Rf_installTrChar(STRING_ELT(name, 0)));
  if (value == R_UnboundValue || value == R_MissingArg) return R_NilValue;
  if (TYPEOF(value) != PROMSXP) return value;
  return PRVALUE(value) == R_UnboundValue ? R_NilValue : PRVALUE(value);
}

// Whether both are the same object.
SEXP same(SEXP a, SEXP b) {
  return Rf_ScalarLogical(a == b);
}

// As lapply does it in C: the call is made in the frame `rho`, its first `n` arguments are forced.
SEXP force_call(SEXP call, SEXP n, SEXP rho) {
  return R_forceAndCall(call, Rf_asInteger(n), rho);
}

}  // namespace

std::vector<Routine> frame_routines() {
  return {routine("self_test", self_test),       routine("frames", frames),
          routine("resume_frame", resume_frame), routine("same", same),
          routine("force_call", force_call),     routine("stack_test", stack_test),
          routine("stack_value", stack_value),   routine("evaluated", evaluated)};
}

}  // namespace remotist::volunteer::checkpoint
