#include "volunteer/runner/watch/interception.h"

#include <array>
#include <cstdint>

#include "volunteer/runner/native_symbol.h"
#include "volunteer/runner/r_table.h"
#include "volunteer/runner/watch/strips.h"

extern "C" {
extern void (*R_PolledEvents)(void);
}

namespace remotist::volunteer {

namespace {

Gate* gate = nullptr;
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

RFunction plain_set = nullptr;

template <bool is_super>
SEXP on_set(SEXP call, SEXP op, SEXP args, SEXP rho) {
  const SEXP value = plain_set(call, op, args, rho);
  if constexpr (!is_super) {
    if (rho != R_GlobalEnv) return value;
  }
  const SEXP symbol = target_of(CAR(args));
  if (symbol == nullptr) return value;
  if (Root* const root = gate->root_of(symbol);
      root != nullptr && (!is_super || reaches_global(rho, symbol))) {
    const Kept kept(value);
    gate->changed(*root);
  }
  return value;
}

// --- what compiled code calls: quote(), by call objects of ours, one for each variable and kind of
// assignment
RFunction plain_quote = nullptr;

struct Mark {
  SEXP call = nullptr;
  Root* root = nullptr;
  bool is_super = false;  // where that assigns is known only when it runs
  int code = 0;           // its attribute: the root's number from 1, less than 0 for a super-assignment
};
// Found by address, so that the way from an assignment to its counter has no function of R on it.
constexpr std::size_t kMarkPlaces = 1024;
std::array<Mark, kMarkPlaces> marks;

Mark& mark_place(SEXP call) {
  auto at = (reinterpret_cast<std::uintptr_t>(call) >> 5) & (kMarkPlaces - 1);
  while (marks[at].call != nullptr && marks[at].call != call) at = (at + 1) & (kMarkPlaces - 1);
  return marks[at];
}

// In code that was saved and loaded again the call is another, with the same attribute.
const Mark* copied_mark(SEXP call) {
  if (ATTRIB(call) == R_NilValue) return nullptr;
  const SEXP code = Rf_getAttrib(call, mark_symbol);
  if (TYPEOF(code) != INTSXP || Rf_xlength(code) != 1) return nullptr;
  for (const Mark& mark : marks) {
    if (mark.call != nullptr && mark.code == INTEGER_ELT(code, 0)) return &mark;
  }
  return nullptr;
}

SEXP on_mark(SEXP call, SEXP op, SEXP args, SEXP rho) {
  const Mark* found = &mark_place(call);
  if (found->call == nullptr) found = copied_mark(call);
  if (found == nullptr) return plain_quote(call, op, args, rho);
  const Mark& mark = *found;
  if (mark.is_super ? reaches_global(rho, mark.root->symbol) : rho == R_GlobalEnv) gate->changed(*mark.root);
  return R_NilValue;
}

SEXP mark_of(SEXP number, SEXP super) {
  Root* const root = gate->roots()[static_cast<std::size_t>(Rf_asInteger(number) - 1)].get();
  const bool is_super = Rf_asInteger(super) != 0;
  const int code = Rf_asInteger(number) * (is_super ? -1 : 1);
  for (const Mark& mark : marks) {
    if (mark.code == code) return mark.call;
  }
  // quote(NULL), which does nothing in a process that knows no marks. All have the same arguments: one piece
  // of memory less to wait for.
  static const SEXP arguments = [] {
    const SEXP made = Rf_cons(R_NilValue, R_NilValue);
    R_PreserveObject(made);
    return made;
  }();
  const SEXP call = Rf_lcons(Rf_install("quote"), arguments);
  R_PreserveObject(call);
  // The compiler takes equal constants for one: the attribute makes each call another.
  Rf_setAttrib(call, mark_symbol, Kept(Rf_ScalarInteger(code)));
  mark_place(call) = {call, root, is_super, code};
  return call;
}

// --- functions that assign by name
void tell(SEXP names, SEXP environment, bool anywhere) {
  if (environment != R_GlobalEnv && !anywhere) return;
  if (TYPEOF(names) == SYMSXP) {
    if (Root* const root = gate->root_of(names)) gate->changed(*root);
  }
  if (TYPEOF(names) != STRSXP) return;
  for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) {
    if (Root* const root = gate->root_of(Rf_installTrChar(STRING_ELT(names, i)))) gate->changed(*root);
  }
}

SEXP argument(SEXP args, int number) {
  for (; number > 1; --number) args = CDR(args);
  return CAR(args);
}

bool is_true(SEXP value) {
  return TYPEOF(value) == LGLSXP && Rf_xlength(value) == 1 && LOGICAL_ELT(value, 0) == TRUE;
}

enum Assigner { kAssign, kDelayed, kRemove, kList, kActive, kLoad, kOldLoad, kImport, kAssigners };
constexpr std::array<const char*, kAssigners> kAssignerNames{"assign",   "delayedAssign",     "remove",
                                                             "list2env", "makeActiveBinding", "loadFromConn2",
                                                             "load",     "importIntoEnv"};
std::array<RFunction, kAssigners> plain_assigners{};

template <Assigner which>
SEXP on_assigner(SEXP call, SEXP op, SEXP args, SEXP rho) {
  const Kept value(plain_assigners[which](call, op, args, rho));
  switch (which) {
    case kAssign:
      tell(argument(args, 1), argument(args, 3), is_true(argument(args, 4)));
      break;
    case kDelayed:
      tell(argument(args, 1), argument(args, 4), false);
      break;
    case kRemove:
      tell(argument(args, 1), argument(args, 2), is_true(argument(args, 3)));
      break;
    case kList:
      tell(Rf_getAttrib(argument(args, 1), R_NamesSymbol), argument(args, 2), false);
      break;
    case kActive:
      tell(argument(args, 1), argument(args, 3), false);
      break;
    default:
      gate->look_around(false);
  }
  return value;
}

template <Assigner which>
void replace_assigner() {
  auto* const entry = entry_called(kAssignerNames[which]);
  if (entry == nullptr) return;
  plain_assigners[which] = entry->function;
  entry->function = on_assigner<which>;
}

// 0: the call assigns to nothing that is watched; else the root's number, from 1.
SEXP root_number(SEXP call) {
  const SEXP symbol = Rf_length(call) >= 3 ? target_of(CADR(call)) : nullptr;
  const Root* const root = symbol == nullptr ? nullptr : gate->root_of(symbol);
  int number = 0;
  for (std::size_t i = 0; i < gate->roots().size(); ++i) {
    if (gate->roots()[i].get() == root && root != nullptr) number = static_cast<int>(i) + 1;
  }
  return Rf_ScalarInteger(number);
}

void (*polled_before)() = nullptr;

void on_poll() {
  if (polled_before != nullptr) polled_before();
  gate->poll();
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

bool intercept(Gate& to, SEXP arm_compiler) {
  gate = &to;
  mark_symbol = Rf_install("remotist.watched");
  const Kept marking(native_symbols({{"root_number", root_number}, {"mark_of", mark_of}}));
  const Kept strips(strip_functions(to));
  const Kept call(Rf_lang3(arm_compiler, marking, strips));
  int failed = 0;
  R_tryEvalSilent(call, R_BaseEnv, &failed);
  if (failed != 0) return false;
  plain_set = entry_called("<-")->function;
  entry_called("<-")->function = on_set<false>;
  entry_called("=")->function = on_set<false>;
  entry_called("<<-")->function = on_set<true>;
  plain_quote = entry_called("quote")->function;
  entry_called("quote")->function = on_mark;
  replace_assigner<kAssign>();
  replace_assigner<kDelayed>();
  replace_assigner<kRemove>();
  replace_assigner<kList>();
  replace_assigner<kActive>();
  replace_assigner<kLoad>();
  replace_assigner<kOldLoad>();
  replace_assigner<kImport>();
  polled_before = R_PolledEvents;
  R_PolledEvents = on_poll;
  return true;
}

}  // namespace remotist::volunteer
