#include "volunteer/runner/watch/peek.h"

#include <format>

extern "C" {
// Exported by R and not in its headers any more.
SEXP PRVALUE(SEXP promise);
Rboolean R_existsVarInFrame(SEXP environment, SEXP symbol);
}

namespace remotist::volunteer {

namespace {

constexpr PeekedValue kAbsent{PeekedValue::Kind::absent};

PeekedValue problem(const char* reason, bool in_environment = false) {
  return {PeekedValue::Kind::problem, nullptr, reason, in_environment};
}

PeekedValue variable_in(SEXP environment, SEXP symbol) {
  if (R_existsVarInFrame(environment, symbol) == FALSE) return kAbsent;
  if (R_BindingIsActive(symbol, environment) != FALSE) {
    // A typed field of a reference class is one, too; its value is in a variable of its own.
    const SEXP field_value = Rf_install(std::format(".->{}", CHAR(PRINTNAME(symbol))).c_str());
    if (R_existsVarInFrame(environment, field_value) != FALSE) return variable_in(environment, field_value);
    return problem("it is an active binding: reading it would run a function");
  }
  SEXP value = Rf_findVarInFrame(environment, symbol);
  if (value == R_UnboundValue) return kAbsent;
  if (TYPEOF(value) == PROMSXP) {
    value = PRVALUE(value);
    if (value == R_UnboundValue) return {PeekedValue::Kind::unevaluated};
  }
  if (value == R_MissingArg) return problem("it is an argument that is missing");
  return {PeekedValue::Kind::value, value};
}

PeekedValue variable_named(SEXP environment, const std::string& name) {
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

R_xlen_t index_of_name(SEXP value, const std::string& name) {
  const SEXP names = Rf_getAttrib(value, R_NamesSymbol);
  if (TYPEOF(names) != STRSXP) return -1;
  for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) {
    if (name == Rf_translateCharUTF8(STRING_ELT(names, i))) return i;
  }
  return -1;
}

PeekedValue element_at(SEXP value, R_xlen_t at) {
  if (at < 0 || at >= Rf_xlength(value)) return kAbsent;
  if (TYPEOF(value) == VECSXP || TYPEOF(value) == EXPRSXP)
    return {PeekedValue::Kind::value, VECTOR_ELT(value, at)};
  const SEXP one = scalar_at(value, at);
  return one == nullptr ? kAbsent : PeekedValue{PeekedValue::Kind::value, one};
}

PeekedValue step_into(SEXP value, const WatchStep& step) {
  if (step.kind == WatchStep::Kind::slot) {
    const SEXP slot = Rf_install(step.name.c_str());
    return R_has_slot(value, slot) != 0 ? PeekedValue{PeekedValue::Kind::value, R_do_slot(value, slot)}
                                        : kAbsent;
  }
  // An object of a reference class has its fields in an environment.
  if (TYPEOF(value) == S4SXP) {
    const SEXP fields = Rf_getAttrib(value, Rf_install(".xData"));
    if (TYPEOF(fields) == ENVSXP) value = fields;
  }
  if (TYPEOF(value) == ENVSXP) {
    auto peeked = step.number == 0 ? variable_named(value, step.name) : kAbsent;
    peeked.in_environment = true;
    return peeked;
  }
  if (step.number > 0) return element_at(value, static_cast<R_xlen_t>(step.number) - 1);
  if (step.kind == WatchStep::Kind::dollar && TYPEOF(value) != VECSXP) return kAbsent;
  return element_at(value, index_of_name(value, step.name));
}

}  // namespace

PeekedValue peek(SEXP symbol) {
  return variable_in(R_GlobalEnv, symbol);
}

PeekedValue peek_element(PeekedValue peeked, const WatchName& name) {
  for (const auto& step : name.steps) {
    if (peeked.kind != PeekedValue::Kind::value) return peeked;
    const Protected kept(peeked.value);
    const bool was_in_environment = peeked.in_environment;
    peeked = step_into(peeked.value, step);
    peeked.in_environment = peeked.in_environment || was_in_environment;
  }
  return peeked;
}

PeekedValue refuse_unshowable(PeekedValue peeked) {
  if (peeked.kind != PeekedValue::Kind::value) return peeked;
  switch (TYPEOF(peeked.value)) {
    case CLOSXP:
    case BUILTINSXP:
    case SPECIALSXP:
      return problem("it is a function", peeked.in_environment);
    case EXTPTRSXP:
      return problem("it is an external pointer", peeked.in_environment);
    case WEAKREFSXP:
      return problem("it is a weak reference", peeked.in_environment);
    case BCODESXP:
      return problem("it is byte code", peeked.in_environment);
    default:
      if (OBJECT(peeked.value) != 0 && Rf_inherits(peeked.value, "connection"))
        return problem("it is a connection", peeked.in_environment);
      return peeked;
  }
}

}  // namespace remotist::volunteer
