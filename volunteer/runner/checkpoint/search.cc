#include "volunteer/runner/checkpoint/search.h"

#include <cstring>

extern "C" {
SEXP PRENV(SEXP);
SEXP PRVALUE(SEXP);
}

namespace remotist::volunteer::checkpoint {

namespace {

bool is_of_methods(SEXP x) {
  if (Rf_isS4(x) == FALSE) return false;
  const SEXP package = Rf_getAttrib(Rf_getAttrib(x, R_ClassSymbol), Rf_install("package"));
  return TYPEOF(package) == STRSXP && Rf_xlength(package) == 1 &&
         std::strcmp(CHAR(STRING_ELT(package, 0)), "methods") == 0;
}

// Steps are recorded only for objects that may contain a reference to an environment.
bool may_reach_environment(SEXP x) {
  switch (TYPEOF(x)) {
    case ENVSXP:
      return !is_known_to_r(x);
    case CLOSXP:
      return !is_known_to_r(CLOENV(x)) || ATTRIB(x) != R_NilValue;
    case VECSXP:
    case EXPRSXP:
    case LISTSXP:
    case LANGSXP:
    case DOTSXP:
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

}  // namespace

bool is_class_metadata(SEXP symbol) {
  const std::string_view name = CHAR(PRINTNAME(symbol));
  return name.starts_with(".__C__") || name.starts_with(".__T__") || name == ".__NAMESPACE__." ||
         name == ".__S3MethodsTable__." || name == ".S3MethodsClasses";
}

SEXP forced_value(SEXP x) {
  return TYPEOF(x) == PROMSXP && PRVALUE(x) != R_UnboundValue ? PRVALUE(x) : x;
}

SEXP value_of(SEXP env, SEXP symbol) {
  return forced_value(Rf_findVarInFrame3(env, symbol, FALSE));
}

bool is_active(SEXP env, SEXP symbol) {
  return R_BindingIsActive(symbol, env) != FALSE;
}

Search::Search(SEXP known) {
  for (R_xlen_t i = 0; i < Rf_xlength(known); ++i) seen_.insert(VECTOR_ELT(known, i));
}

void Search::add_namespace(SEXP space, const char* name, bool all) {
  const Path path{0, step(kNone, kNamespace, name)};
  each_variable(space, [&](SEXP symbol) {
    if (is_class_metadata(symbol)) return;
    if (is_active(space, symbol)) {
      push(R_ActiveBindingFunction(symbol, space), path, kActive, CHAR(PRINTNAME(symbol)));
      return;
    }
    SEXP value = value_of(space, symbol);
    if (TYPEOF(value) == PROMSXP && all) value = Rf_eval(value, R_BaseEnv);
    if (TYPEOF(value) != PROMSXP) push(value, path, kVariable, CHAR(PRINTNAME(symbol)));
  });
  enter_pending();
}

void Search::add_variable(SEXP space, const char* name, const char* variable) {
  push(value_of(space, Rf_install(variable)), {0, step(kNone, kNamespace, name)}, kVariable, variable);
  enter_pending();
}

void Search::add_attached(SEXP env, const char* name) {
  push(env, {0, kNone}, kAttached, name);
}

void Search::enter_environments() {
  for (std::size_t i = 0; i < environments_.size(); ++i) {
    enter_environment(environments_[i], {static_cast<int>(i) + 1, kNone});
    enter_pending();
  }
}

std::vector<std::string> Search::steps_of(std::size_t i) const {
  std::vector<std::string> all;
  for (int at = paths_[i].last; at != kNone; at = steps_[static_cast<std::size_t>(at)].before)
    all.push_back(steps_[static_cast<std::size_t>(at)].text);
  return {all.rbegin(), all.rend()};
}

int Search::step(int before, char kind, std::string_view what) {
  steps_.push_back({before, std::string(1, kind).append(what)});
  return static_cast<int>(steps_.size()) - 1;
}

void Search::push(SEXP object, Path path, char kind, std::string_view what) {
  const SEXP x = forced_value(object);
  if (!may_reach_environment(x) || is_of_methods(x) || !seen_.insert(x).second) return;
  path.last = step(path.last, kind, what);
  if (TYPEOF(x) == ENVSXP) {
    environments_.push_back(x);
    paths_.push_back(path);
  } else {
    pending_.push_back({x, path});
  }
}

void Search::enter_pending() {
  while (!pending_.empty()) {
    const Item item = pending_.back();
    pending_.pop_back();
    enter(item.x, item.path);
  }
}

void Search::enter(SEXP x, Path path) {
  switch (TYPEOF(x)) {
    case CLOSXP:
      push(CLOENV(x), path, kAround);
      break;
    case PROMSXP:
      if (TYPEOF(PRENV(x)) == ENVSXP) push(PRENV(x), path, kPromise);
      return;
    case VECSXP:
    case EXPRSXP:
      for (R_xlen_t i = 0; i < Rf_xlength(x); ++i)
        if (may_reach_environment(VECTOR_ELT(x, i)))
          push(VECTOR_ELT(x, i), path, kElement, std::to_string(i + 1));
      break;
    case LISTSXP:
    case LANGSXP:
    case DOTSXP: {
      R_xlen_t i = 0;
      for (SEXP cell = x; cell != R_NilValue; cell = CDR(cell), ++i)
        if (may_reach_environment(CAR(cell))) push(CAR(cell), path, kElement, std::to_string(i + 1));
      break;
    }
    case EXTPTRSXP:
    case WEAKREFSXP:
      (path.from == 0 ? has_pointers_ : has_pointers_in_environments_) = true;
      return;
    default:
      break;
  }
  enter_attributes(x, path);
}

void Search::enter_environment(SEXP x, Path path) {
  push(R_ParentEnv(x), path, kParent);
  each_variable(x, [&](SEXP symbol) {
    if (is_active(x, symbol)) {
      push(R_ActiveBindingFunction(symbol, x), path, kActive, CHAR(PRINTNAME(symbol)));
    } else {
      push(Rf_findVarInFrame3(x, symbol, FALSE), path, kVariable, CHAR(PRINTNAME(symbol)));
    }
  });
  enter_attributes(x, path);
}

void Search::enter_attributes(SEXP x, Path path) {
  for (SEXP cell = ATTRIB(x); cell != R_NilValue; cell = CDR(cell))
    push(CAR(cell), path, kAttribute, CHAR(PRINTNAME(TAG(cell))));
}

}  // namespace remotist::volunteer::checkpoint
