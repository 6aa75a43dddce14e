// What is to be called when R collects an environment: R keeps that where nobody can ask for it, so it is
// noted here as scripts and packages ask for it, and asked for again in the process that goes on.
//
// Those that a package registers while it is loaded are not: it does so again when it is loaded again. Nor
// are those of environments that nothing refers to which is saved: they are a package's own.
#include "volunteer/runner/checkpoint/native.h"
#include "volunteer/runner/r_table.h"

namespace remotist::volunteer::checkpoint {

namespace {

RFunction plain_register = nullptr;
// A pairlist behind its first cell: weak references from an environment to list(function, at the end?).
SEXP noted = nullptr;
int count = 0;
int count_when_cleared = 64;

// Forgets those that were called.
void clear_noted() {
  count = 0;
  for (SEXP cell = noted; CDR(cell) != R_NilValue;) {
    if (R_WeakRefKey(CADR(cell)) == R_NilValue) {
      SETCDR(cell, CDDR(cell));
    } else {
      cell = CDR(cell);
      ++count;
    }
  }
  count_when_cleared = 2 * count + 64;
}

// As R itself finds out.
bool is_package_loading(SEXP rho) {
  const Kept call(Rf_lang3(Rf_install("dynGet"), Rf_mkString("__NameSpacesLoading__"), R_NilValue));
  return Rf_eval(call, rho) != R_NilValue;
}

SEXP register_and_note(SEXP call, SEXP op, SEXP args, SEXP rho) {
  const SEXP value = plain_register(call, op, args, rho);
  // R has looked at the arguments: an environment or a pointer, a function, TRUE or FALSE.
  if (TYPEOF(CAR(args)) != ENVSXP || is_package_loading(rho)) return value;
  const Kept what(Rf_allocVector(VECSXP, 2));
  SET_VECTOR_ELT(what, 0, CADR(args));
  SET_VECTOR_ELT(what, 1, CADDR(args));
  const Kept reference(R_MakeWeakRef(CAR(args), what, R_NilValue, FALSE));
  SETCDR(noted, Rf_cons(reference, CDR(noted)));
  if (++count > count_when_cleared) clear_noted();
  return value;
}

SEXP note_finalizers() {
  if (plain_register != nullptr || !knows_table()) return R_NilValue;
  if (auto* const entry = entry_called("reg.finalizer")) {
    noted = Rf_cons(R_NilValue, R_NilValue);
    R_PreserveObject(noted);
    plain_register = entry->function;
    entry->function = register_and_note;
  }
  return R_NilValue;
}

// Before anything is captured: has R collect what nobody needs and call what there is to call, so that no
// call is still to come of which the half is seen. FALSE when finalizers are not known.
SEXP settle_finalizers() {
  if (plain_register == nullptr) return Rf_ScalarLogical(FALSE);
  constexpr int kRounds = 10;  // what is called may leave more to collect
  clear_noted();
  int before = -1;
  for (int round = 0; round < kRounds && count > 0 && count != before; ++round) {
    before = count;
    R_gc();
    R_RunPendingFinalizers();
    clear_noted();
  }
  return Rf_ScalarLogical(TRUE);
}

// finalizers(state, known): list(environment, function, call it at the end?) for each environment that the
// state reaches, the oldest first.
SEXP finalizers(SEXP state, SEXP known) {
  if (plain_register == nullptr) return R_NilValue;
  clear_noted();
  if (count == 0) return R_NilValue;
  const Kept all(Rf_allocVector(VECSXP, count));
  const Kept keys(Rf_allocVector(VECSXP, count));
  R_xlen_t i = Rf_xlength(all);
  // Nothing that is reached goes meanwhile.
  for (SEXP cell = CDR(noted); cell != R_NilValue && i > 0; cell = CDR(cell)) {
    if (R_WeakRefKey(CAR(cell)) == R_NilValue) continue;
    SET_VECTOR_ELT(keys, --i, R_WeakRefKey(CAR(cell)));
    SET_VECTOR_ELT(all, i, R_WeakRefValue(CAR(cell)));
  }
  const auto reached = reached_by(state, known, keys);
  R_xlen_t kept = 0;
  for (const bool one : reached) kept += one ? 1 : 0;
  const Kept saved(Rf_allocVector(VECSXP, kept));
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
  return {routine("note_finalizers", note_finalizers), routine("settle_finalizers", settle_finalizers),
          routine("finalizers", finalizers)};
}

}  // namespace remotist::volunteer::checkpoint
