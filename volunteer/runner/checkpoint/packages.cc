// What packages keep in environments: settings, caches, counters, what all classes of R6 have around them.
// Scripts' values may refer to these environments, so a checkpoint must name them: a copy would be no
// longer the package's.
//
// Each that can be reached from the variables of a namespace gets a number, and a way: from which one of a
// smaller number, or from which namespace, by which steps. Whoever reads the checkpoint goes that way in
// packages that it has loaded afresh. Where it leads to no environment, one is made.
#include <charconv>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "volunteer/runner/checkpoint/native.h"
#include "volunteer/runner/r_table.h"

extern "C" {
SEXP PRENV(SEXP);
SEXP PRVALUE(SEXP);
}

namespace remotist::volunteer::checkpoint {

namespace {

// The first character of a step; behind it the name of what, or its index from 1.
constexpr char kNamespace = ':';
constexpr char kVariable = '$';
constexpr char kElement = '[';
constexpr char kAttribute = '@';
constexpr char kActive = '=';   // the function of an active binding
constexpr char kAround = '(';   // the environment of a function
constexpr char kParent = '^';   // or of an environment
constexpr char kPromise = '~';  // or of a promise

// While a checkpoint is written or read.
std::unordered_map<SEXP, int> numbers;
std::vector<SEXP> kept;  // by number - 1; R code holds them
std::unordered_set<SEXP> made_by_loading;

bool is_of_methods(SEXP x) {
  if (Rf_isS4(x) == FALSE) return false;
  const SEXP package = Rf_getAttrib(Rf_getAttrib(x, R_ClassSymbol), Rf_install("package"));
  return TYPEOF(package) == STRSXP && Rf_xlength(package) == 1 &&
         std::strcmp(CHAR(STRING_ELT(package, 0)), "methods") == 0;
}

// What R keeps in a namespace of its classes, generics and methods is cared for elsewhere.
bool is_of_r(SEXP symbol) {
  const std::string_view name = CHAR(PRINTNAME(symbol));
  return name.starts_with(".__") || name == ".S3MethodsClasses";
}

// A binding's value without a promise around it, but the promise itself as long as nobody asked for it.
SEXP value_of(SEXP env, SEXP symbol) {
  const SEXP value = Rf_findVarInFrame3(env, symbol, FALSE);
  return TYPEOF(value) == PROMSXP && PRVALUE(value) != R_UnboundValue ? PRVALUE(value) : value;
}

// Goes over all that the variables of namespaces lead to, without evaluating anything.
class Search {
 public:
  explicit Search(SEXP known) {
    for (R_xlen_t i = 0; i < Rf_xlength(known); ++i) seen_.insert(VECTOR_ELT(known, i));
  }

  // What nobody asked for yet is as the package's file has it.
  void from(SEXP space, const char* name) {
    const Way way{0, step(kNone, kNamespace, name)};
    each_variable(space, [&](SEXP symbol) {
      if (is_of_r(symbol) || R_BindingIsActive(symbol, space) != FALSE) return;
      const SEXP value = value_of(space, symbol);
      if (TYPEOF(value) != PROMSXP) push(value, way, kVariable, CHAR(PRINTNAME(symbol)));
    });
    while (!todo_.empty()) {
      const Item item = todo_.back();
      todo_.pop_back();
      enter(item);
    }
  }

  [[nodiscard]] const std::vector<SEXP>& environments() const { return environments_; }
  [[nodiscard]] const std::vector<SEXP>& pointers() const { return pointers_; }
  [[nodiscard]] int from_of(std::size_t i) const { return ways_[i].from; }
  [[nodiscard]] std::vector<std::string> steps_of(std::size_t i) const {
    std::vector<std::string> all;
    for (int at = ways_[i].last; at != kNone; at = steps_[static_cast<std::size_t>(at)].before)
      all.push_back(steps_[static_cast<std::size_t>(at)].text);
    return {all.rbegin(), all.rend()};
  }

 private:
  static constexpr int kNone = -1;
  struct Step {
    int before;
    std::string text;
  };
  struct Way {
    int from;
    int last;
  };
  struct Item {
    SEXP x;
    Way way;
  };

  template <class Each>
  static void each_variable(SEXP env, Each each) {
    const Kept names(variables_in(env));
    for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) each(Rf_installTrChar(STRING_ELT(names, i)));
  }

  int step(int before, char kind, std::string_view what = {}) {
    steps_.push_back({before, std::string(1, kind).append(what)});
    return static_cast<int>(steps_.size()) - 1;
  }

  // Steps are made only for what may lead somewhere.
  static bool may_lead_on(SEXP x) {
    switch (TYPEOF(x)) {
      case ENVSXP:
        return !is_known_to_r(x);
      case CLOSXP:
        return !is_known_to_r(CLOENV(x)) || ATTRIB(x) != R_NilValue;
      case VECSXP:
      case EXPRSXP:
      case PROMSXP:
      case EXTPTRSXP:
      case WEAKREFSXP:
        return true;
      case NILSXP:
      case SYMSXP:
      case CHARSXP:
        return false;
      default:
        return ATTRIB(x) != R_NilValue;
    }
  }

  void push(SEXP x, Way way, char kind, std::string_view what = {}) {
    if (may_lead_on(x) && !is_of_methods(x) && seen_.insert(x).second)
      todo_.push_back({x, {way.from, step(way.last, kind, what)}});
  }

  void enter(const Item& item) {
    const SEXP x = item.x;
    Way way = item.way;
    switch (TYPEOF(x)) {
      case ENVSXP:
        environments_.push_back(x);
        ways_.push_back(way);
        way = {static_cast<int>(environments_.size()), kNone};
        enter_environment(x, way);
        break;
      case CLOSXP:
        push(CLOENV(x), way, kAround);
        break;
      case PROMSXP:
        if (TYPEOF(PRENV(x)) == ENVSXP) push(PRENV(x), way, kPromise);
        return;
      case VECSXP:
      case EXPRSXP:
        for (R_xlen_t i = 0; i < Rf_xlength(x); ++i)
          push(VECTOR_ELT(x, i), way, kElement, std::to_string(i + 1));
        break;
      case EXTPTRSXP:
      case WEAKREFSXP:
        pointers_.push_back(x);
        return;
      default:
        break;
    }
    for (SEXP cell = ATTRIB(x); cell != R_NilValue; cell = CDR(cell))
      push(CAR(cell), way, kAttribute, CHAR(PRINTNAME(TAG(cell))));
  }

  void enter_environment(SEXP x, Way way) {
    push(R_ParentEnv(x), way, kParent);
    each_variable(x, [&](SEXP symbol) {
      if (R_BindingIsActive(symbol, x) != FALSE) {
        push(R_ActiveBindingFunction(symbol, x), way, kActive, CHAR(PRINTNAME(symbol)));
      } else {
        push(value_of(x, symbol), way, kVariable, CHAR(PRINTNAME(symbol)));
      }
    });
  }

  std::vector<Step> steps_;
  std::vector<SEXP> environments_;
  std::vector<Way> ways_;
  std::vector<SEXP> pointers_;
  std::unordered_set<SEXP> seen_;
  std::vector<Item> todo_;
};

SEXP symbol_called(const char* name) {
  return Rf_installTrChar(Rf_mkCharCE(name, CE_UTF8));
}

// What a step leads to from `x`, or null.
SEXP taken(SEXP x, const char* step) {
  const char* const what = step + 1;
  switch (*step) {
    case kNamespace:
      return R_FindNamespace(Rf_mkString(what));
    case kVariable:
    case kActive: {
      const SEXP symbol = symbol_called(what);
      if (TYPEOF(x) != ENVSXP || R_existsVarInFrame(x, symbol) == FALSE) return nullptr;
      const bool active = R_BindingIsActive(symbol, x) != FALSE;
      if (active != (*step == kActive)) return nullptr;
      if (active) return R_ActiveBindingFunction(symbol, x);
      const SEXP value = value_of(x, symbol);
      return TYPEOF(value) == PROMSXP && R_IsNamespaceEnv(x) != FALSE ? Rf_eval(value, R_BaseEnv) : value;
    }
    case kElement: {
      R_xlen_t at = 0;
      std::from_chars(what, what + std::strlen(what), at);
      const bool list = TYPEOF(x) == VECSXP || TYPEOF(x) == EXPRSXP;
      return list && at >= 1 && at <= Rf_xlength(x) ? VECTOR_ELT(x, at - 1) : nullptr;
    }
    case kAttribute:
      for (SEXP cell = ATTRIB(x); cell != R_NilValue; cell = CDR(cell)) {
        if (std::strcmp(CHAR(PRINTNAME(TAG(cell))), what) == 0) return CAR(cell);
      }
      return nullptr;
    case kAround:
      return TYPEOF(x) == CLOSXP ? CLOENV(x) : nullptr;
    case kParent:
      return TYPEOF(x) == ENVSXP && x != R_EmptyEnv ? R_ParentEnv(x) : nullptr;
    case kPromise:
      return TYPEOF(x) == PROMSXP && TYPEOF(PRENV(x)) == ENVSXP ? PRENV(x) : nullptr;
    default:
      return nullptr;
  }
}

SEXP as_list(const std::vector<SEXP>& all) {
  const auto count = static_cast<R_xlen_t>(all.size());
  const Kept list(Rf_allocVector(VECSXP, count));
  for (R_xlen_t i = 0; i < count; ++i) SET_VECTOR_ELT(list, i, all[static_cast<std::size_t>(i)]);
  return list;
}

void number_all(const std::vector<SEXP>& all) {
  kept = all;
  numbers.clear();
  for (std::size_t i = 0; i < all.size(); ++i) numbers.emplace(all[i], static_cast<int>(i) + 1);
}

// find_kept(names of packages, known environments): numbers the environments that the packages keep, and
// yields list(environments, from, steps). The known ones are not entered.
SEXP find_kept(SEXP packages, SEXP known) {
  Search search(known);
  for (R_xlen_t i = 0; i < Rf_xlength(packages); ++i)
    search.from(R_FindNamespace(Rf_ScalarString(STRING_ELT(packages, i))), CHAR(STRING_ELT(packages, i)));
  number_all(search.environments());
  const auto count = static_cast<R_xlen_t>(search.environments().size());
  const Kept result(Rf_allocVector(VECSXP, 3));
  SET_VECTOR_ELT(result, 0, as_list(search.environments()));
  SET_VECTOR_ELT(result, 1, Rf_allocVector(INTSXP, count));
  SET_VECTOR_ELT(result, 2, Rf_allocVector(VECSXP, count));
  for (R_xlen_t i = 0; i < count; ++i) {
    const auto steps = search.steps_of(static_cast<std::size_t>(i));
    const SEXP texts = Rf_allocVector(STRSXP, static_cast<R_xlen_t>(steps.size()));
    SET_VECTOR_ELT(VECTOR_ELT(result, 2), i, texts);
    for (std::size_t k = 0; k < steps.size(); ++k)
      SET_STRING_ELT(texts, static_cast<R_xlen_t>(k), Rf_mkCharCE(steps[k].c_str(), CE_UTF8));
    INTEGER(VECTOR_ELT(result, 1))[i] = search.from_of(static_cast<std::size_t>(i));
  }
  return result;
}

// go_to_kept(from, steps): the environments that these ways lead to here, which get their numbers.
SEXP go_to_kept(SEXP from, SEXP steps) {
  const R_xlen_t count = Rf_xlength(from);
  const Kept environments(Rf_allocVector(VECSXP, count));
  numbers.clear();
  for (R_xlen_t i = 0; i < count; ++i) {
    const int before = INTEGER_ELT(from, i);
    if (before < 0 || before > i) Rf_error("the checkpoint is damaged");
    SEXP x = before == 0 ? R_NilValue : VECTOR_ELT(environments, before - 1);
    const SEXP way = VECTOR_ELT(steps, i);
    for (R_xlen_t k = 0; k < Rf_xlength(way) && x != nullptr; ++k) x = taken(x, CHAR(STRING_ELT(way, k)));
    // Not one that has a number already: what was two would become one.
    if (x == nullptr || TYPEOF(x) != ENVSXP || is_known_to_r(x) || numbers.contains(x))
      x = R_NewEnv(R_EmptyEnv, TRUE, 0);
    SET_VECTOR_ELT(environments, i, x);
    numbers.emplace(x, static_cast<int>(i) + 1);
  }
  kept.clear();
  for (R_xlen_t i = 0; i < count; ++i) kept.push_back(VECTOR_ELT(environments, i));
  return environments;
}

SEXP forget_kept() {
  number_all({});
  return R_NilValue;
}

void note_pointers(SEXP space) {
  Search search(R_NilValue);
  search.from(space, "");
  made_by_loading.insert(search.pointers().begin(), search.pointers().end());
}

RFunction plain_lock = nullptr;
RFunction plain_unlock = nullptr;
// list(namespace, symbol) of each variable that somebody unlocked, in a pairlist behind its first cell: only
// so can it have got another value.
SEXP unlocked = nullptr;

// R seals a namespace when it is loaded: what has been called for by then is made by loading.
SEXP lock_and_note(SEXP call, SEXP op, SEXP args, SEXP rho) {
  const SEXP value = plain_lock(call, op, args, rho);
  if (TYPEOF(CAR(args)) == ENVSXP && R_IsNamespaceEnv(CAR(args)) != FALSE) note_pointers(CAR(args));
  return value;
}

SEXP unlock_and_note(SEXP call, SEXP op, SEXP args, SEXP rho) {
  const SEXP value = plain_unlock(call, op, args, rho);
  const SEXP symbol = CAR(args);
  const SEXP space = CADR(args);
  if (TYPEOF(symbol) != SYMSXP || TYPEOF(space) != ENVSXP || R_IsNamespaceEnv(space) == FALSE ||
      is_of_r(symbol))
    return value;
  for (SEXP cell = CDR(unlocked); cell != R_NilValue; cell = CDR(cell)) {
    if (VECTOR_ELT(CAR(cell), 0) == space && VECTOR_ELT(CAR(cell), 1) == symbol) return value;
  }
  const Kept both(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(both, 0, space);
  SET_VECTOR_ELT(both, 1, symbol);
  SETCDR(unlocked, Rf_cons(both, CDR(unlocked)));
  return value;
}

void replace(const char* name, RFunction& plain, RFunction with) {
  if (auto* const entry = entry_called(name)) {
    plain = entry->function;
    entry->function = with;
  }
}

// note_loading(names of packages that are loaded)
SEXP note_loading(SEXP packages) {
  for (R_xlen_t i = 0; i < Rf_xlength(packages); ++i)
    note_pointers(R_FindNamespace(Rf_ScalarString(STRING_ELT(packages, i))));
  if (unlocked != nullptr) return R_NilValue;
  unlocked = Rf_cons(R_NilValue, R_NilValue);
  R_PreserveObject(unlocked);
  if (knows_table()) {
    replace("lockEnvironment", plain_lock, lock_and_note);
    replace("unlockBinding", plain_unlock, unlock_and_note);
  }
  return R_NilValue;
}

SEXP unlocked_variables() {
  return Rf_PairToVectorList(CDR(unlocked));
}

}  // namespace

int number_of_kept(SEXP environment) {
  const auto found = numbers.find(environment);
  return found == numbers.end() ? 0 : found->second;
}

SEXP kept_with_number(int number) {
  return number >= 1 && static_cast<std::size_t>(number) <= kept.size()
             ? kept[static_cast<std::size_t>(number) - 1]
             : nullptr;
}

bool is_made_by_loading(SEXP pointer) {
  return made_by_loading.contains(pointer);
}

std::vector<Routine> package_routines() {
  return {routine("find_kept", find_kept), routine("go_to_kept", go_to_kept),
          routine("forget_kept", forget_kept), routine("note_loading", note_loading),
          routine("unlocked_variables", unlocked_variables)};
}

}  // namespace remotist::volunteer::checkpoint
