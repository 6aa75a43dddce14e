// Finalizers of environments. R has no function that lists them, so reg.finalizer() is intercepted and each
// registration recorded; a resume registers them again.
//
// Not recorded: those that a package registers while it is loaded, since loading it again does the same. Not
// saved: those of environments that the saved state does not reach.
#include "volunteer/runner/checkpoint/native.h"
#include "volunteer/runner/r_table.h"

namespace remotist::volunteer::checkpoint {

namespace {

RFunction original_register = nullptr;
// A pairlist after a dummy cell: weak references from an environment to list(function, onexit).
SEXP recorded = nullptr;
int finalizer_count = 0;
int count_to_clean = 64;

// Drops entries whose finalizer was called.
void remove_collected() {
  finalizer_count = 0;
  for (SEXP cell = recorded; CDR(cell) != R_NilValue;) {
    if (R_WeakRefKey(CADR(cell)) == R_NilValue) {
      SETCDR(cell, CDDR(cell));
    } else {
      cell = CDR(cell);
      ++finalizer_count;
    }
  }
  count_to_clean = 2 * finalizer_count + 64;
}

// The test that R itself uses.
bool is_package_loading(SEXP rho) {
  const Protected call(Rf_lang3(Rf_install("dynGet"), Rf_mkString("__NameSpacesLoading__"), R_NilValue));
  return Rf_eval(call, rho) != R_NilValue;
}

SEXP register_and_record(SEXP call, SEXP op, SEXP args, SEXP rho) {
  const SEXP value = original_register(call, op, args, rho);
  // R has checked the arguments: an environment or a pointer, a function, TRUE or FALSE.
  if (TYPEOF(CAR(args)) != ENVSXP || is_package_loading(rho)) return value;
  const Protected what(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(what, 0, CADR(args));
  SET_VECTOR_ELT(what, 1, CADDR(args));
  const Protected reference(R_MakeWeakRef(CAR(args), what, R_NilValue, FALSE));
  SETCDR(recorded, Rf_cons(reference, CDR(recorded)));
  if (++finalizer_count > count_to_clean) remove_collected();
  return value;
}

SEXP record_finalizers() {
  if (original_register != nullptr || !knows_table()) return R_NilValue;
  if (auto* const entry = entry_called("reg.finalizer")) {
    recorded = Rf_cons(R_NilValue, R_NilValue);
    R_PreserveObject(recorded);
    original_register = entry->function;
    entry->function = register_and_record;
  }
  return R_NilValue;
}

// Before anything is saved: makes R collect garbage and run pending finalizers, so that no finalizer of an
// unreachable environment is lost. FALSE when finalizers are not recorded in this version of R.
SEXP run_pending_finalizers() {
  if (original_register == nullptr) return Rf_ScalarLogical(FALSE);
  constexpr int kRounds = 10;  // a finalizer may make more environments unreachable
  remove_collected();
  int before = -1;
  for (int round = 0; round < kRounds && finalizer_count > 0 && finalizer_count != before; ++round) {
    before = finalizer_count;
    R_gc();
    R_RunPendingFinalizers();
    remove_collected();
  }
  return Rf_ScalarLogical(TRUE);
}

// finalizers(state, known): list(environment, function, onexit) for each environment that the state reaches,
// in the order of registration.
SEXP finalizers(SEXP state, SEXP known) {
  if (original_register == nullptr) return R_NilValue;
  remove_collected();
  if (finalizer_count == 0) return R_NilValue;
  const Protected all(Rf_allocVector(VECSXP, finalizer_count));
  const Protected keys(Rf_allocVector(VECSXP, finalizer_count));
  R_xlen_t i = Rf_xlength(all);
  // Environments that are reached cannot be collected meanwhile.
  for (SEXP cell = CDR(recorded); cell != R_NilValue && i > 0; cell = CDR(cell)) {
    if (R_WeakRefKey(CAR(cell)) == R_NilValue) continue;
    SET_VECTOR_ELT(keys, --i, R_WeakRefKey(CAR(cell)));
    SET_VECTOR_ELT(all, i, R_WeakRefValue(CAR(cell)));
  }
  const auto reached = reached_by(state, known, keys);
  R_xlen_t kept = 0;
  for (const bool one : reached) kept += one ? 1 : 0;
  const Protected saved(Rf_allocVector(VECSXP, kept));
  for (R_xlen_t k = Rf_xlength(all); k-- > 0;) {
    if (!reached[static_cast<std::size_t>(k)]) continue;
    const SEXP one = Rf_allocVector(VECSXP, 3);
    SET_VECTOR_ELT(saved, --kept, one);
    SET_VECTOR_ELT(one, 0, VECTOR_ELT(keys, k));
    SET_VECTOR_ELT(one, 1, VECTOR_ELT(VECTOR_ELT(all, k), 0));
    SET_VECTOR_ELT(one, 2, VECTOR_ELT(VECTOR_ELT(all, k), 1));
  }
  return saved;
}

}  // namespace

std::vector<Routine> finalizer_routines() {
  return {routine("record_finalizers", record_finalizers),
          routine("run_pending_finalizers", run_pending_finalizers), routine("finalizers", finalizers)};
}

}  // namespace remotist::volunteer::checkpoint
