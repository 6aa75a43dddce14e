// External pointers that packages create when they are loaded: a checkpoint cannot contain them, but loading
// the package again creates them again. And the order in which packages were loaded.
#include <unordered_set>

#include "volunteer/runner/checkpoint/search.h"
#include "volunteer/runner/r_table.h"

namespace remotist::volunteer::checkpoint {

namespace {

// A pairlist after a dummy cell, of list(environment, symbol, value): variables whose values contained
// pointers right after loading. The reference from here makes R copy such a value before a change.
SEXP loaded = nullptr;
// The names of namespaces in the order of loading.
std::vector<std::string> loading_order;
RFunction original_lock = nullptr;

SEXP call_base(const char* name, SEXP rho = R_BaseEnv) {
  const Protected call(Rf_lang1(Rf_findVarInFrame(R_BaseEnv, Rf_install(name))));
  return Rf_eval(call, rho);
}

void record_value(SEXP env, SEXP symbol, SEXP known) {
  if (is_active(env, symbol)) return;
  const SEXP value = value_of(env, symbol);
  if (TYPEOF(value) == PROMSXP || *why_unsaveable(value, known) == '\0') return;
  const Protected one(Rf_allocVector(VECSXP, 3));
  SET_VECTOR_ELT(one, 0, env);
  SET_VECTOR_ELT(one, 1, symbol);
  SET_VECTOR_ELT(one, 2, value);
  SETCDR(loaded, Rf_cons(one, CDR(loaded)));
}

void record_pointers(SEXP space, const std::string& name, SEXP rho) {
  Search search(R_NilValue);
  search.add_namespace(space, name.c_str());
  const bool in_variables = search.has_pointers();
  search.enter_environments();
  const Protected known(as_list(search.environments()));
  if (in_variables) {
    each_variable(space, [&](SEXP symbol) {
      if (!is_class_metadata(symbol)) record_value(space, symbol, known);
    });
  }
  if (!search.has_pointers_in_environments()) return;
  // Environments of other packages were not created by loading this one.
  Search others(R_NilValue);
  const Protected names(call_base("loadedNamespaces"));
  for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) {
    if (CHAR(STRING_ELT(names, i)) != name) others.add_namespace(namespace_called(STRING_ELT(names, i)), "");
  }
  others.enter_environments();
  std::unordered_set<SEXP> of_others(others.environments().begin(), others.environments().end());
  // Except the frames of the calls that load it, which other packages may reach through unforced promises.
  const Protected frames(call_base("sys.frames", rho));
  for (SEXP cell = frames; cell != R_NilValue; cell = CDR(cell)) of_others.erase(CAR(cell));
  for (const SEXP env : search.environments()) {
    if (!of_others.contains(env)) each_variable(env, [&](SEXP symbol) { record_value(env, symbol, known); });
  }
}

// R locks a namespace at the end of loading; a script may lock it again.
SEXP lock_and_record(SEXP call, SEXP op, SEXP args, SEXP rho) {
  const SEXP value = original_lock(call, op, args, rho);
  const SEXP space = CAR(args);
  if (TYPEOF(space) != ENVSXP || R_IsNamespaceEnv(space) == FALSE || space == R_BaseNamespace) return value;
  const std::string name = CHAR(STRING_ELT(R_NamespaceEnvSpec(space), 0));
  for (const auto& known : loading_order) {
    if (known == name) return value;
  }
  loading_order.push_back(name);
  record_pointers(space, name, rho);
  return value;
}

// record_loading(): records the packages that are loaded now, and all that are loaded later.
SEXP record_loading() {
  if (loaded != nullptr) return R_NilValue;
  loaded = Rf_cons(R_NilValue, R_NilValue);
  R_PreserveObject(loaded);
  const Protected names(call_base("loadedNamespaces"));
  for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) {
    loading_order.emplace_back(CHAR(STRING_ELT(names, i)));
    record_pointers(namespace_called(STRING_ELT(names, i)), loading_order.back(), R_BaseEnv);
  }
  auto* const entry = knows_table() ? entry_called("lockEnvironment") : nullptr;
  if (entry != nullptr) {
    original_lock = entry->function;
    entry->function = lock_and_record;
  }
  return R_NilValue;
}

// Packages in the order of loading; some may have been unloaded.
SEXP loaded_in_order() {
  const Protected names(Rf_allocVector(STRSXP, static_cast<R_xlen_t>(loading_order.size())));
  for (std::size_t i = 0; i < loading_order.size(); ++i)
    SET_STRING_ELT(names, static_cast<R_xlen_t>(i), Rf_mkChar(loading_order[i].c_str()));
  return names;
}

// is_as_loaded(environment, name): whether the variable still has the value with pointers that loading gave
// it.
SEXP is_as_loaded(SEXP env, SEXP name) {
  const SEXP symbol = Rf_installTrChar(STRING_ELT(name, 0));
  const SEXP value = value_of(env, symbol);
  for (SEXP cell = CDR(loaded); cell != R_NilValue; cell = CDR(cell)) {
    const SEXP one = CAR(cell);
    if (VECTOR_ELT(one, 0) == env && VECTOR_ELT(one, 1) == symbol)
      return Rf_ScalarLogical(VECTOR_ELT(one, 2) == value);
  }
  return Rf_ScalarLogical(FALSE);
}

}  // namespace

std::vector<Routine> loading_routines() {
  return {routine("record_loading", record_loading), routine("loaded_in_order", loaded_in_order),
          routine("is_as_loaded", is_as_loaded)};
}

}  // namespace remotist::volunteer::checkpoint
