#include "volunteer/runner/watch/interception.h"

#include <array>
#include <cstring>
#include <string_view>

extern "C" {
using RFunction = SEXP (*)(SEXP call, SEXP op, SEXP args, SEXP rho);
// As R lays it out in Defn.h, which it does not install.
struct RTableEntry {
  const char* name;
  RFunction function;
  int code;
  int eval;
  int arity;
  int kind;
  int precedence;
  unsigned int right;
};
extern RTableEntry R_FunTab[];
extern void (*R_PolledEvents)(void);
Rboolean R_existsVarInFrame(SEXP environment, SEXP symbol);
}

namespace remotist::volunteer {

namespace {

Gate* gate = nullptr;
SEXP mark_symbol = nullptr;

RTableEntry* entry_called(std::string_view name) {
  for (auto* entry = R_FunTab; entry->name != nullptr; ++entry) {
    if (name == entry->name) return entry;
  }
  return nullptr;
}

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

// --- what compiled code calls
RFunction plain_emptyenv = nullptr;

SEXP on_mark(SEXP call, SEXP op, SEXP args, SEXP rho) {
  const SEXP mark = ATTRIB(call);
  if (mark == R_NilValue || TAG(mark) != mark_symbol) return plain_emptyenv(call, op, args, rho);
  const int code = INTEGER(CAR(mark))[0];
  Root& root = *gate->roots()[static_cast<std::size_t>(code >> 1)];
  const bool here = (code & 1) == 0 ? rho == R_GlobalEnv : reaches_global(rho, root.symbol);
  if (here) gate->changed(root);
  return R_NilValue;
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
  static constexpr std::array<const char*, 4> kFirst{"if", "while", "for", "repeat"};
  for (std::size_t i = 0; i < kFirst.size(); ++i) {
    if (std::strcmp(R_FunTab[i].name, kFirst[i]) != 0) return false;
  }
  const auto* const local = entry_called("<-");
  const auto* const other = entry_called("<<-");
  const auto* const equals = entry_called("=");
  return local != nullptr && other != nullptr && equals != nullptr && local->function == other->function &&
         local->function == equals->function && entry_called("emptyenv") != nullptr;
}

bool intercept(Gate& to, SEXP arm_compiler) {
  gate = &to;
  mark_symbol = Rf_install("remotist.watched");
  const Kept native(R_MakeExternalPtrFn(reinterpret_cast<DL_FUNC>(reinterpret_cast<void*>(root_number)),
                                        Rf_install("native symbol"), R_NilValue));
  const Kept call(Rf_lang2(arm_compiler, native));
  int failed = 0;
  R_tryEvalSilent(call, R_BaseEnv, &failed);
  if (failed != 0) return false;
  plain_set = entry_called("<-")->function;
  entry_called("<-")->function = on_set<false>;
  entry_called("=")->function = on_set<false>;
  entry_called("<<-")->function = on_set<true>;
  plain_emptyenv = entry_called("emptyenv")->function;
  entry_called("emptyenv")->function = on_mark;
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
