// `environment(f) <- e` drops a function's byte code, because it was compiled for another environment.
// Reference classes and R6 create an object's methods in this way, so their frames could not be saved. Here
// the code is kept when it means the same in the new environment: when none of the base functions that it
// calls is bound between there and the top level.
#include "volunteer/runner/checkpoint/native.h"
#include "volunteer/runner/r_table.h"

namespace remotist::volunteer::checkpoint {

namespace {

RFunction original_rebind = nullptr;

bool means_the_same(SEXP code, SEXP env) {
  const SEXP info = info_in(code);
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
  const Protected kept(code);
  const SEXP value = original_rebind(call, op, args, rho);
  if (code != R_NilValue && TYPEOF(value) == CLOSXP && TYPEOF(env) == ENVSXP &&
      TYPEOF(BODY(value)) != BCODESXP) {
    const Protected result(value);
    if (means_the_same(code, env)) SET_BODY(result, code);
    return result;
  }
  return value;
}

SEXP keep_code_of_methods() {
  if (original_rebind != nullptr || !knows_table()) return R_NilValue;
  if (auto* const entry = entry_called("environment<-")) {
    original_rebind = entry->function;
    entry->function = rebind;
  }
  return R_NilValue;
}

}  // namespace

std::vector<Routine> rebind_routines() {
  return {routine("keep_code_of_methods", keep_code_of_methods)};
}

}  // namespace remotist::volunteer::checkpoint
