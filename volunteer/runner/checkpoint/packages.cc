// State that packages keep in environments (settings, caches, counters, the enclosing environments of R6
// classes), and variables of packages that were assigned to. Scripts' values may refer to these environments,
// so a checkpoint must name them instead of copying them.
//
// Each environment that can be reached from the variables of a namespace, or is on the search path, gets a
// number and a path: the steps to it from a namespace, or from an environment with a smaller number. A resume
// follows these paths in packages that were loaded again; where a path leads to no environment, a new one is
// made. Paths that lead through no other environment come first, because a script cannot change where they
// lead.
#include <charconv>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "volunteer/runner/checkpoint/search.h"
#include "volunteer/runner/r_table.h"

extern "C" {
SEXP FRAME(SEXP);
SEXP HASHTAB(SEXP);
SEXP PRENV(SEXP);
SEXP PRVALUE(SEXP);
int ENVFLAGS(SEXP);
void SET_ENVFLAGS(SEXP, int);
void SET_FRAME(SEXP, SEXP);
void SET_HASHTAB(SEXP, SEXP);
}

namespace remotist::volunteer::checkpoint {

namespace {

// While a checkpoint is written or read.
std::unordered_map<SEXP, int> numbers;
std::vector<SEXP> environments_by_number;  // index: number - 1; R code keeps them alive

SEXP symbol_called(const char* name) {
  return Rf_installTrChar(Rf_mkCharCE(name, CE_UTF8));
}

template <class Each>
void each_attached(Each each) {
  for (SEXP env = R_ParentEnv(R_GlobalEnv); env != R_EmptyEnv && env != R_BaseEnv; env = R_ParentEnv(env)) {
    const SEXP name = Rf_getAttrib(env, R_NameSymbol);
    if (TYPEOF(name) == STRSXP && Rf_xlength(name) == 1) each(env, CHAR(STRING_ELT(name, 0)));
  }
}

SEXP element_at(SEXP x, R_xlen_t at) {
  switch (TYPEOF(x)) {
    case VECSXP:
    case EXPRSXP:
      return at >= 1 && at <= Rf_xlength(x) ? VECTOR_ELT(x, at - 1) : nullptr;
    case LISTSXP:
    case LANGSXP:
    case DOTSXP:
      while (--at > 0 && x != R_NilValue) x = CDR(x);
      return at == 0 && x != R_NilValue ? CAR(x) : nullptr;
    default:
      return nullptr;
  }
}

// The object that a step leads to from `x`, or null.
SEXP follow_step(SEXP x, const char* step) {
  const char* const what = step + 1;
  switch (*step) {
    case kNamespace:
      return R_FindNamespace(Rf_mkString(what));
    case kAttached: {
      SEXP found = nullptr;
      each_attached([&](SEXP env, const char* name) {
        if (found == nullptr && std::strcmp(name, what) == 0) found = env;
      });
      return found;
    }
    case kVariable:
    case kActive: {
      const SEXP symbol = symbol_called(what);
      if (TYPEOF(x) != ENVSXP || R_existsVarInFrame(x, symbol) == FALSE) return nullptr;
      if (is_active(x, symbol) != (*step == kActive)) return nullptr;
      if (*step == kActive) return R_ActiveBindingFunction(symbol, x);
      const SEXP value = value_of(x, symbol);
      return TYPEOF(value) == PROMSXP && R_IsNamespaceEnv(x) != FALSE ? Rf_eval(value, R_BaseEnv) : value;
    }
    case kElement: {
      R_xlen_t at = 0;
      std::from_chars(what, what + std::strlen(what), at);
      return element_at(x, at);
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

void assign_numbers(const std::vector<SEXP>& all) {
  environments_by_number = all;
  numbers.clear();
  for (std::size_t i = 0; i < all.size(); ++i) numbers.emplace(all[i], static_cast<int>(i) + 1);
}

// find_package_environments(packages, all, known): numbers the environments that the packages keep, and
// yields list(environments, from, steps). `all[i]`: also loads variables of packages[i] that have not been
// loaded yet. Environments in `known` are not entered.
SEXP find_package_environments(SEXP packages, SEXP all, SEXP known) {
  Search search(known);
  for (R_xlen_t i = 0; i < Rf_xlength(packages); ++i)
    search.add_namespace(namespace_called(STRING_ELT(packages, i)), CHAR(STRING_ELT(packages, i)),
                         LOGICAL_ELT(all, i) == TRUE);
  search.add_variable(R_BaseNamespace, "base", ".userHooksEnv");
  const SEXP autoloads = Rf_findVarInFrame(R_BaseEnv, Rf_install(".AutoloadEnv"));
  each_attached([&](SEXP env, const char* name) {
    if (env != autoloads && R_IsPackageEnv(env) == FALSE) search.add_attached(env, name);
  });
  search.enter_environments();
  assign_numbers(search.environments());
  const auto count = static_cast<R_xlen_t>(search.environments().size());
  const Protected result(Rf_allocVector(VECSXP, 3));
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

// follow_paths(from, steps): numbers the environments that these paths lead to in this process, and yields
// them.
SEXP follow_paths(SEXP from, SEXP steps) {
  const R_xlen_t count = Rf_xlength(from);
  if (TYPEOF(from) != INTSXP || TYPEOF(steps) != VECSXP || Rf_xlength(steps) != count) Rf_error(kDamaged);
  const Protected environments(Rf_allocVector(VECSXP, count));
  numbers.clear();
  for (R_xlen_t i = 0; i < count; ++i) {
    const int before = INTEGER_ELT(from, i);
    const SEXP path = VECTOR_ELT(steps, i);
    if (before < 0 || before > i || TYPEOF(path) != STRSXP) Rf_error(kDamaged);
    SEXP x = before == 0 ? R_NilValue : VECTOR_ELT(environments, before - 1);
    for (R_xlen_t k = 0; k < Rf_xlength(path) && x != nullptr; ++k) {
      x = follow_step(x, CHAR(STRING_ELT(path, k)));
      if (x != nullptr) x = forced_value(x);
    }
    // Not one that has a number already: two environments would become one.
    if (x == nullptr || TYPEOF(x) != ENVSXP || is_known_to_r(x) || numbers.contains(x))
      x = R_NewEnv(R_EmptyEnv, TRUE, 0);
    SET_VECTOR_ELT(environments, i, x);
    numbers.emplace(x, static_cast<int>(i) + 1);
  }
  environments_by_number.clear();
  for (R_xlen_t i = 0; i < count; ++i) environments_by_number.push_back(VECTOR_ELT(environments, i));
  return environments;
}

SEXP forget_package_environments() {
  assign_numbers({});
  return R_NilValue;
}

// alias_of(environment): another environment that shares its variables, but not its parent or attributes.
SEXP alias_of(SEXP env) {
  const Protected alias(R_NewEnv(R_EmptyEnv, FALSE, 0));
  SET_FRAME(alias, FRAME(env));
  SET_HASHTAB(alias, HASHTAB(env));
  return alias;
}

// replace_variables(environment, alias): from now on it has the variables of the alias, and no others.
SEXP replace_variables(SEXP env, SEXP alias) {
  SET_FRAME(env, FRAME(alias));
  SET_HASHTAB(env, HASHTAB(alias));
  return R_NilValue;
}

// R has no function that unlocks an environment; one that was not locked must not be locked after a resume.
SEXP unlock_environment(SEXP env) {
  constexpr int kLocked = 1 << 14;
  SET_ENVFLAGS(env, ENVFLAGS(env) & ~kLocked);
  return Rf_ScalarLogical(R_EnvironmentIsLocked(env) == FALSE ? TRUE : FALSE);
}

// set_existing(values, environment): assigns to those variables that exist, locked or not.
SEXP set_existing(SEXP values, SEXP env) {
  const SEXP names = Rf_getAttrib(values, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(values); ++i) {
    const SEXP symbol = Rf_installTrChar(STRING_ELT(names, i));
    if (R_existsVarInFrame(env, symbol) != FALSE && !is_active(env, symbol))
      define(symbol, VECTOR_ELT(values, i), env);
  }
  return R_NilValue;
}

// assigned(environment, but): its variables that are not promises and are not the same object in `but`, if
// that is an environment. A package's variables are promises to load them from its file until something
// assigns to them.
SEXP assigned(SEXP env, SEXP but) {
  const Protected all(bindings(env));
  const SEXP names = Rf_getAttrib(all, R_NamesSymbol);
  std::vector<R_xlen_t> at;
  for (R_xlen_t i = 0; i < Rf_xlength(all); ++i) {
    const SEXP symbol = Rf_installTrChar(STRING_ELT(names, i));
    const SEXP value = VECTOR_ELT(all, i);
    if (TYPEOF(value) == PROMSXP || is_class_metadata(symbol)) continue;
    if (TYPEOF(but) == ENVSXP && Rf_findVarInFrame3(but, symbol, FALSE) == value) continue;
    at.push_back(i);
  }
  return select_elements(all, at);
}

}  // namespace

SEXP namespace_called(SEXP name) {
  const Protected text(Rf_ScalarString(name));
  return R_FindNamespace(text);
}

SEXP as_list(const std::vector<SEXP>& all) {
  const auto count = static_cast<R_xlen_t>(all.size());
  const Protected list(Rf_allocVector(VECSXP, count));
  for (R_xlen_t i = 0; i < count; ++i) SET_VECTOR_ELT(list, i, all[static_cast<std::size_t>(i)]);
  return list;
}

int package_environment_number(SEXP environment) {
  const auto found = numbers.find(environment);
  return found == numbers.end() ? 0 : found->second;
}

SEXP package_environment(int number) {
  return number >= 1 && static_cast<std::size_t>(number) <= environments_by_number.size()
             ? environments_by_number[static_cast<std::size_t>(number) - 1]
             : nullptr;
}

std::vector<Routine> package_routines() {
  return {routine("find_package_environments", find_package_environments),
          routine("follow_paths", follow_paths),
          routine("forget_package_environments", forget_package_environments),
          routine("alias_of", alias_of),
          routine("replace_variables", replace_variables),
          routine("unlock_environment", unlock_environment),
          routine("set_existing", set_existing),
          routine("assigned", assigned)};
}

}  // namespace remotist::volunteer::checkpoint
