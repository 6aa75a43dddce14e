#include "volunteer/runner/watch/look.h"

#include <format>

extern "C" {
// Exported by R and not in its headers any more.
SEXP PRVALUE(SEXP promise);
Rboolean R_existsVarInFrame(SEXP environment, SEXP symbol);
}

namespace remotist::volunteer {

namespace {

constexpr Sight kNothing{Sight::Kind::nothing};

Sight problem(const char* words, bool in_environment = false) {
  return {Sight::Kind::problem, nullptr, words, in_environment};
}

Sight variable_in(SEXP environment, SEXP symbol) {
  if (R_existsVarInFrame(environment, symbol) == FALSE) return kNothing;
  if (R_BindingIsActive(symbol, environment) != FALSE) {
    // A field of a reference class that has a type is one too, with its value beside it.
    const SEXP beside = Rf_install(std::format(".->{}", CHAR(PRINTNAME(symbol))).c_str());
    if (R_existsVarInFrame(environment, beside) != FALSE) return variable_in(environment, beside);
    return problem("it is an active binding: looking at it would run a function");
  }
  SEXP value = Rf_findVarInFrame(environment, symbol);
  if (value == R_UnboundValue) return kNothing;
  if (TYPEOF(value) == PROMSXP) {
    value = PRVALUE(value);
    if (value == R_UnboundValue) return {Sight::Kind::undecided};
  }
  if (value == R_MissingArg) return problem("it is an argument that is missing");
  return {Sight::Kind::value, value};
}

Sight variable_called(SEXP environment, const std::string& name) {
  const SEXP chars = Rf_mkCharLenCE(name.data(), static_cast<int>(name.size()), CE_UTF8);
  return variable_in(environment, Rf_installChar(chars));
}

SEXP scalar_at(SEXP value, R_xlen_t at) {
  switch (TYPEOF(value)) {
    case LGLSXP:
      return Rf_ScalarLogical(LOGICAL_ELT(value, at));
    case INTSXP:
      return Rf_ScalarInteger(INTEGER_ELT(value, at));
    case REALSXP:
      return Rf_ScalarReal(REAL_ELT(value, at));
    case CPLXSXP:
      return Rf_ScalarComplex(COMPLEX_ELT(value, at));
    case STRSXP:
      return Rf_ScalarString(STRING_ELT(value, at));
    case RAWSXP:
      return Rf_ScalarRaw(RAW_ELT(value, at));
    default:
      return nullptr;
  }
}

R_xlen_t place_called(SEXP value, const std::string& name) {
  const SEXP names = Rf_getAttrib(value, R_NamesSymbol);
  if (TYPEOF(names) != STRSXP) return -1;
  for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) {
    if (name == Rf_translateCharUTF8(STRING_ELT(names, i))) return i;
  }
  return -1;
}

Sight element_at(SEXP value, R_xlen_t at) {
  if (at < 0 || at >= Rf_xlength(value)) return kNothing;
  if (TYPEOF(value) == VECSXP || TYPEOF(value) == EXPRSXP) return {Sight::Kind::value, VECTOR_ELT(value, at)};
  const SEXP one = scalar_at(value, at);
  return one == nullptr ? kNothing : Sight{Sight::Kind::value, one};
}

Sight step_into(SEXP value, const WatchStep& step) {
  if (step.kind == WatchStep::Kind::slot) {
    const SEXP slot = Rf_install(step.name.c_str());
    return R_has_slot(value, slot) != 0 ? Sight{Sight::Kind::value, R_do_slot(value, slot)} : kNothing;
  }
  // An object of a reference class has its fields in an environment.
  if (TYPEOF(value) == S4SXP) {
    const SEXP fields = Rf_getAttrib(value, Rf_install(".xData"));
    if (TYPEOF(fields) == ENVSXP) value = fields;
  }
  if (TYPEOF(value) == ENVSXP) {
    auto sight = step.number == 0 ? variable_called(value, step.name) : kNothing;
    sight.in_environment = true;
    return sight;
  }
  if (step.number > 0) return element_at(value, static_cast<R_xlen_t>(step.number) - 1);
  if (step.kind == WatchStep::Kind::dollar && TYPEOF(value) != VECSXP) return kNothing;
  return element_at(value, place_called(value, step.name));
}

}  // namespace

Sight look_at(SEXP symbol) {
  return variable_in(R_GlobalEnv, symbol);
}

Sight look_into(Sight sight, const WatchName& name) {
  for (const auto& step : name.steps) {
    if (sight.kind != Sight::Kind::value) return sight;
    const Kept kept(sight.value);
    const bool before = sight.in_environment;
    sight = step_into(sight.value, step);
    sight.in_environment = sight.in_environment || before;
  }
  return sight;
}

Sight showable(Sight sight) {
  if (sight.kind != Sight::Kind::value) return sight;
  switch (TYPEOF(sight.value)) {
    case CLOSXP:
    case BUILTINSXP:
    case SPECIALSXP:
      return problem("it is a function", sight.in_environment);
    case EXTPTRSXP:
      return problem("it is an external pointer", sight.in_environment);
    case WEAKREFSXP:
      return problem("it is a weak reference", sight.in_environment);
    case BCODESXP:
      return problem("it is byte code", sight.in_environment);
    default:
      if (OBJECT(sight.value) != 0 && Rf_inherits(sight.value, "connection"))
        return problem("it is a connection", sight.in_environment);
      return sight;
  }
}

}  // namespace remotist::volunteer
