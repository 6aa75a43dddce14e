// `environment(f) <- e` takes a function's byte code away, since it was compiled for another environment.
// That is how reference classes and their kind make an object's methods, so that no method could be saved
// while it runs. Here the code is given back when it means the same in the new environment: when none of the
// names of R that it calls is bound between there and the top level.
#include "volunteer/runner/checkpoint/native.h"
#include "volunteer/runner/r_table.h"

namespace remotist::volunteer::checkpoint {

namespace {

RFunction plain_rebind = nullptr;

bool means_the_same(SEXP code, SEXP env) {
  const SEXP info = VECTOR_ELT(marker_of(code), 0);
  if (TYPEOF(info) != ENVSXP) return false;
  const SEXP heads = Rf_findVarInFrame(info, Rf_install("heads"));
  if (TYPEOF(heads) != STRSXP) return false;
  for (SEXP around = env; around != R_GlobalEnv; around = R_ParentEnv(around)) {
    if (around == R_EmptyEnv || around == R_BaseEnv || around == R_BaseNamespace) return false;
    if (R_IsNamespaceEnv(around) != FALSE) break;
    for (R_xlen_t i = 0; i < Rf_xlength(heads); ++i) {
      if (R_existsVarInFrame(around, Rf_installTrChar(STRING_ELT(heads, i))) != FALSE) return false;
    }
  }
  return true;
}

SEXP rebind(SEXP call, SEXP op, SEXP args, SEXP rho) {
  const SEXP function = CAR(args);
  const SEXP code =
      TYPEOF(function) == CLOSXP && is_instrumented(BODY(function)) ? BODY(function) : R_NilValue;
  const SEXP env = CADR(args);
  const Kept kept(code);
  const SEXP value = plain_rebind(call, op, args, rho);
  if (code != R_NilValue && TYPEOF(value) == CLOSXP && TYPEOF(env) == ENVSXP &&
      TYPEOF(BODY(value)) != BCODESXP) {
    const Kept result(value);
    if (means_the_same(code, env)) SET_BODY(result, code);
    return result;
  }
  return value;
}

SEXP keep_code_of_methods() {
  if (plain_rebind != nullptr || !knows_table()) return R_NilValue;
  if (auto* const entry = entry_called("environment<-")) {
    plain_rebind = entry->function;
    entry->function = rebind;
  }
  return R_NilValue;
}

}  // namespace

std::vector<Routine> rebind_routines() {
  return {routine("keep_code_of_methods", keep_code_of_methods)};
}

}  // namespace remotist::volunteer::checkpoint
