#include "volunteer/runner/watch/interception.h"

#include <array>
#include <cstdint>

#include "volunteer/runner/native_symbol.h"
#include "volunteer/runner/r_table.h"
#include "volunteer/runner/watch/loop_batches.h"

extern "C" {
extern void (*R_PolledEvents)(void);
}

namespace remotist::volunteer {

namespace {

ChangeSampler* sampler = nullptr;
SEXP mark_symbol = nullptr;

// `<<-` assigns in the first environment around the function that has the variable.
bool reaches_global(SEXP from, SEXP symbol) {
  for (SEXP around = R_ParentEnv(from); around != R_GlobalEnv; around = R_ParentEnv(around)) {
    if (around == R_EmptyEnv) return true;
    if (R_existsVarInFrame(around, symbol) != FALSE) return false;
  }
  return true;
}

// The variable that `names(x$a)[2] <- v` assigns to.
SEXP target_of(SEXP left) {
  while (TYPEOF(left) == LANGSXP) {
    left = CDR(left);
    if (left == R_NilValue) return nullptr;
    left = CAR(left);
  }
  if (TYPEOF(left) == SYMSXP) return left;
  if (TYPEOF(left) == STRSXP && Rf_xlength(left) == 1) return Rf_installTrChar(STRING_ELT(left, 0));
  return nullptr;
}

RFunction original_set = nullptr;

template <bool is_super>
SEXP on_set(SEXP call, SEXP op, SEXP args, SEXP rho) {
  const SEXP value = original_set(call, op, args, rho);
  if constexpr (!is_super) {
    if (rho != R_GlobalEnv) return value;
  }
  const SEXP symbol = target_of(CAR(args));
  if (symbol == nullptr) return value;
  if (WatchedGlobal* const global = sampler->find_global(symbol);
      global != nullptr && (!is_super || reaches_global(rho, symbol))) {
    const Protected kept(value);
    sampler->changed(*global);
  }
  return value;
}

// --- compiled code calls quote() with call objects made here, one for each variable and kind of assignment
RFunction original_quote = nullptr;

struct Mark {
  SEXP call = nullptr;
  WatchedGlobal* global = nullptr;
  bool is_super = false;  // its target is known only at run time
  int code = 0;           // its attribute: the number of the global from 1, negative for `<<-`
};
// By address, open addressing: no call of R between an assignment and its counter.
constexpr std::size_t kMarkSlots = 1024;
std::array<Mark, kMarkSlots> marks;

Mark& mark_slot(SEXP call) {
  auto at = (reinterpret_cast<std::uintptr_t>(call) >> 5) & (kMarkSlots - 1);
  while (marks[at].call != nullptr && marks[at].call != call) at = (at + 1) & (kMarkSlots - 1);
  return marks[at];
}

// Code that was saved and loaded has a copy of the call, with the same attribute.
const Mark* copied_mark(SEXP call) {
  if (ATTRIB(call) == R_NilValue) return nullptr;
  const SEXP code = Rf_getAttrib(call, mark_symbol);
  if (TYPEOF(code) != INTSXP || Rf_xlength(code) != 1) return nullptr;
  for (const Mark& mark : marks) {
    if (mark.call != nullptr && mark.code == INTEGER_ELT(code, 0)) return &mark;
  }
  return nullptr;
}

SEXP on_quote(SEXP call, SEXP op, SEXP args, SEXP rho) {
  const Mark* found = &mark_slot(call);
  if (found->call == nullptr) found = copied_mark(call);
  if (found == nullptr) return original_quote(call, op, args, rho);
  const Mark& mark = *found;
  if (mark.is_super ? reaches_global(rho, mark.global->symbol) : rho == R_GlobalEnv)
    sampler->changed(*mark.global);
  return R_NilValue;
}

SEXP mark_of(SEXP number, SEXP super) {
  WatchedGlobal* const global = sampler->globals()[static_cast<std::size_t>(Rf_asInteger(number) - 1)].get();
  const bool is_super = Rf_asInteger(super) != 0;
  const int code = Rf_asInteger(number) * (is_super ? -1 : 1);
  for (const Mark& mark : marks) {
    if (mark.code == code) return mark.call;
  }
  // quote(NULL) does nothing in a process without marks. All marks share their arguments, which saves a cache
  // miss.
  static const SEXP arguments = [] {
    const SEXP made = Rf_cons(R_NilValue, R_NilValue);
    R_PreserveObject(made);
    return made;
  }();
  const SEXP call = Rf_lcons(Rf_install("quote"), arguments);
  R_PreserveObject(call);
  // The compiler merges equal constants: the attribute makes each call different.
  Rf_setAttrib(call, mark_symbol, Protected(Rf_ScalarInteger(code)));
  mark_slot(call) = {call, global, is_super, code};
  return call;
}

// --- functions that assign by name
void report_change(SEXP names, SEXP environment, bool anywhere) {
  if (environment != R_GlobalEnv && !anywhere) return;
  if (TYPEOF(names) == SYMSXP) {
    if (WatchedGlobal* const global = sampler->find_global(names)) sampler->changed(*global);
  }
  if (TYPEOF(names) != STRSXP) return;
  for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) {
    if (WatchedGlobal* const global = sampler->find_global(Rf_installTrChar(STRING_ELT(names, i))))
      sampler->changed(*global);
  }
}

SEXP argument(SEXP args, int number) {
  for (; number > 1; --number) args = CDR(args);
  return CAR(args);
}

bool is_true(SEXP value) {
  return TYPEOF(value) == LGLSXP && Rf_xlength(value) == 1 && LOGICAL_ELT(value, 0) == TRUE;
}

enum Assigner { kAssign, kDelayed, kRemove, kListToEnv, kActive, kLoad, kOldLoad, kImport, kAssigners };
constexpr std::array<const char*, kAssigners> kAssignerNames{"assign",   "delayedAssign",     "remove",
                                                             "list2env", "makeActiveBinding", "loadFromConn2",
                                                             "load",     "importIntoEnv"};
std::array<RFunction, kAssigners> original_assigners{};

template <Assigner which>
SEXP on_assigner(SEXP call, SEXP op, SEXP args, SEXP rho) {
  const Protected value(original_assigners[which](call, op, args, rho));
  switch (which) {
    case kAssign:
      report_change(argument(args, 1), argument(args, 3), is_true(argument(args, 4)));
      break;
    case kDelayed:
      report_change(argument(args, 1), argument(args, 4), false);
      break;
    case kRemove:
      report_change(argument(args, 1), argument(args, 2), is_true(argument(args, 3)));
      break;
    case kListToEnv:
      report_change(Rf_getAttrib(argument(args, 1), R_NamesSymbol), argument(args, 2), false);
      break;
    case kActive:
      report_change(argument(args, 1), argument(args, 3), false);
      break;
    default:
      sampler->check_all(false);
  }
  return value;
}

template <Assigner which>
void replace_assigner() {
  auto* const entry = entry_called(kAssignerNames[which]);
  if (entry == nullptr) return;
  original_assigners[which] = entry->function;
  entry->function = on_assigner<which>;
}

// The number of the global that a call assigns to, from 1; 0: it is not watched.
SEXP global_number(SEXP call) {
  const SEXP symbol = Rf_length(call) >= 3 ? target_of(CADR(call)) : nullptr;
  const WatchedGlobal* const global = symbol == nullptr ? nullptr : sampler->find_global(symbol);
  int number = 0;
  for (std::size_t i = 0; i < sampler->globals().size(); ++i) {
    if (sampler->globals()[i].get() == global && global != nullptr) number = static_cast<int>(i) + 1;
  }
  return Rf_ScalarInteger(number);
}

void (*previous_poll)() = nullptr;

void on_poll() {
  if (previous_poll != nullptr) previous_poll();
  sampler->poll();
}

}  // namespace

bool can_intercept() {
  if (!knows_table()) return false;
  const auto* const local = entry_called("<-");
  const auto* const other = entry_called("<<-");
  const auto* const equals = entry_called("=");
  return local != nullptr && other != nullptr && equals != nullptr && local->function == other->function &&
         local->function == equals->function && entry_called("quote") != nullptr;
}

bool intercept(ChangeSampler& to, SEXP instrument_compiler) {
  sampler = &to;
  mark_symbol = Rf_install("remotist.watched");
  const Protected marking(native_symbols({{"global_number", global_number}, {"mark_of", mark_of}}));
  const Protected batches(batch_functions(to));
  const Protected call(Rf_lang3(instrument_compiler, marking, batches));
  int failed = 0;
  R_tryEvalSilent(call, R_BaseEnv, &failed);
  if (failed != 0) return false;
  original_set = entry_called("<-")->function;
  entry_called("<-")->function = on_set<false>;
  entry_called("=")->function = on_set<false>;
  entry_called("<<-")->function = on_set<true>;
  original_quote = entry_called("quote")->function;
  entry_called("quote")->function = on_quote;
  replace_assigner<kAssign>();
  replace_assigner<kDelayed>();
  replace_assigner<kRemove>();
  replace_assigner<kListToEnv>();
  replace_assigner<kActive>();
  replace_assigner<kLoad>();
  replace_assigner<kOldLoad>();
  replace_assigner<kImport>();
  previous_poll = R_PolledEvents;
  R_PolledEvents = on_poll;
  return true;
}

}  // namespace remotist::volunteer
