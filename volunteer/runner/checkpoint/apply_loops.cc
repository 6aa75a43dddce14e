// The loops of lapply() and vapply() over functions without safe points: as in R's C code, but in batches of
// elements, with a safe point between them.
#include <climits>

#include "volunteer/runner/checkpoint/native.h"

namespace remotist::volunteer::checkpoint {

namespace {

// Whether a function has safe points, so that its calls are made one by one from R code.
SEXP makes_calls(SEXP function) {
  if (TYPEOF(function) != CLOSXP) return Rf_ScalarLogical(FALSE);
  const SEXP info = info_in(BODY(function));
  if (TYPEOF(info) != ENVSXP) return Rf_ScalarLogical(FALSE);
  static const SEXP inspects_caller = Rf_install("inspects_caller");
  const SEXP inspects = Rf_findVarInFrame(info, inspects_caller);
  return Rf_ScalarLogical(TYPEOF(inspects) == LGLSXP && Rf_asLogical(inspects) == TRUE ? FALSE : TRUE);
}

// Whether vapply() accepts the value for `model`.
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

// Evaluates FUN(X[[i]], ...) in `rho` for the next batch of elements after `done` and stores the values in
// `out`, which must have no other reference. Yields their number. With a model it stops at a value that does
// not fit, and yields minus the number.
SEXP call_each(SEXP out, SEXP done, SEXP loop, SEXP model, SEXP rho) {
  static const SEXP index = Rf_install("i");
  static const SEXP call = [] {
    const Protected element(Rf_lang3(R_Bracket2Symbol, Rf_install("X"), index));
    const SEXP made = Rf_lang3(Rf_install("FUN"), element, R_DotsSymbol);
    R_PreserveObject(made);
    return made;
  }();
  const auto from = static_cast<R_xlen_t>(Rf_asReal(done));
  const R_xlen_t count = batch_length(Rf_asInteger(loop), from, Rf_xlength(out));
  for (R_xlen_t i = from; i < from + count; ++i) {
    const Protected at(Rf_xlength(out) > INT_MAX ? Rf_ScalarReal(static_cast<double>(i + 1))
                                                 : Rf_ScalarInteger(static_cast<int>(i + 1)));
    Rf_defineVar(index, at, rho);
    const Protected value(R_forceAndCall(call, 1, rho));
    SET_VECTOR_ELT(out, i, MAYBE_REFERENCED(value) ? Rf_lazy_duplicate(value) : static_cast<SEXP>(value));
    if (model != R_NilValue && !has_form(value, model))
      return Rf_ScalarReal(-static_cast<double>(i - from + 1));
  }
  return Rf_ScalarReal(static_cast<double>(count));
}

// A list of values that fit a model of one element, as a vector; NULL where R's own vapply() is needed.
SEXP collect(SEXP values, SEXP model) {
  if (Rf_xlength(model) != 1 || ATTRIB(model) != R_NilValue) return R_NilValue;
  const auto type = TYPEOF(model);
  if (type != LGLSXP && type != INTSXP && type != REALSXP && type != STRSXP) return R_NilValue;
  const R_xlen_t count = Rf_xlength(values);
  const Protected all(Rf_allocVector(type, count));
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

std::vector<Routine> apply_routines() {
  return {routine("makes_calls", makes_calls), routine("fits", fits), routine("call_each", call_each),
          routine("collect", collect)};
}

}  // namespace remotist::volunteer::checkpoint
