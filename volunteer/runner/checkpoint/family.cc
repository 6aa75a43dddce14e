// The loops of lapply() and its family over functions that have no safe point: R's own loops in C, but some
// elements at a time, so that there is one between them.
#include <climits>

#include "volunteer/runner/checkpoint/native.h"

namespace remotist::volunteer::checkpoint {

namespace {

// Is it worth to make the calls of a function one by one? Then it may be under way at a safe point.
SEXP makes_calls(SEXP function) {
  if (TYPEOF(function) != CLOSXP) return Rf_ScalarLogical(FALSE);
  const SEXP marker = marker_of(BODY(function));
  const SEXP info = marker == R_NilValue ? R_NilValue : VECTOR_ELT(marker, 0);
  if (TYPEOF(info) != ENVSXP) return Rf_ScalarLogical(FALSE);
  static const SEXP looks_around = Rf_install("looks_around");
  const SEXP looks = Rf_findVarInFrame(info, looks_around);
  return Rf_ScalarLogical(TYPEOF(looks) == LGLSXP && Rf_asLogical(looks) == TRUE ? FALSE : TRUE);
}

// What vapply() lets pass for a value like `model`.
bool has_form(SEXP value, SEXP model) {
  if (Rf_xlength(value) != Rf_xlength(model)) return false;
  const auto type = TYPEOF(value);
  switch (TYPEOF(model)) {
    case REALSXP:
      return type == REALSXP || type == INTSXP || type == LGLSXP;
    case INTSXP:
      return type == INTSXP || type == LGLSXP;
    default:
      return type == TYPEOF(model);
  }
}

SEXP fits(SEXP value, SEXP model) {
  return Rf_ScalarLogical(has_form(value, model));
}

// FUN(X[[i]], ...) in `rho` for the next elements behind `done`; their values go into `out`, which nobody
// else has. Yields how many it did. With a model it ends at a value that does not fit, and yields minus that.
SEXP call_each(SEXP out, SEXP done, SEXP loop, SEXP model, SEXP rho) {
  static const SEXP index = Rf_install("i");
  static const SEXP call = [] {
    const Kept element(Rf_lang3(R_Bracket2Symbol, Rf_install("X"), index));
    const SEXP made = Rf_lang3(Rf_install("FUN"), element, R_DotsSymbol);
    R_PreserveObject(made);
    return made;
  }();
  const auto from = static_cast<R_xlen_t>(Rf_asReal(done));
  const R_xlen_t count = strip_length(Rf_asInteger(loop), from, Rf_xlength(out));
  for (R_xlen_t i = from; i < from + count; ++i) {
    const Kept at(Rf_xlength(out) > INT_MAX ? Rf_ScalarReal(static_cast<double>(i + 1))
                                            : Rf_ScalarInteger(static_cast<int>(i + 1)));
    Rf_defineVar(index, at, rho);
    const Kept value(R_forceAndCall(call, 1, rho));
    SET_VECTOR_ELT(out, i, MAYBE_REFERENCED(value) ? Rf_lazy_duplicate(value) : static_cast<SEXP>(value));
    if (model != R_NilValue && !has_form(value, model))
      return Rf_ScalarReal(-static_cast<double>(i - from + 1));
  }
  return Rf_ScalarReal(static_cast<double>(count));
}

// A list of values that fit a model of one element, as a vector; NULL where that is not so simple.
SEXP collect(SEXP values, SEXP model) {
  if (Rf_xlength(model) != 1 || ATTRIB(model) != R_NilValue) return R_NilValue;
  const auto type = TYPEOF(model);
  if (type != LGLSXP && type != INTSXP && type != REALSXP && type != STRSXP) return R_NilValue;
  const R_xlen_t count = Rf_xlength(values);
  const Kept all(Rf_allocVector(type, count));
  for (R_xlen_t i = 0; i < count; ++i) {
    const SEXP one = VECTOR_ELT(values, i);
    switch (type) {
      case LGLSXP:
        LOGICAL(all)[i] = LOGICAL_ELT(one, 0);
        break;
      case INTSXP:
        INTEGER(all)[i] = TYPEOF(one) == INTSXP ? INTEGER_ELT(one, 0) : LOGICAL_ELT(one, 0);
        break;
      case REALSXP:
        REAL(all)[i] = TYPEOF(one) == REALSXP ? REAL_ELT(one, 0) : Rf_asReal(one);
        break;
      default:
        SET_STRING_ELT(all, i, STRING_ELT(one, 0));
    }
  }
  return all;
}

}  // namespace

std::vector<Routine> family_routines() {
  return {routine("makes_calls", makes_calls), routine("fits", fits), routine("call_each", call_each),
          routine("collect", collect)};
}

}  // namespace remotist::volunteer::checkpoint
