// What is to be called when R collects an environment: R keeps that where nobody can ask for it, so it is
// noted here as scripts and packages ask for it, and asked for again in the process that goes on.
#include "volunteer/runner/checkpoint/native.h"
#include "volunteer/runner/r_table.h"

namespace remotist::volunteer::checkpoint {

namespace {

RFunction plain_register = nullptr;
SEXP noted = nullptr;  // a pairlist behind its first cell: weak references from an environment to
                       // list(function, at the end?)
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

SEXP register_and_note(SEXP call, SEXP op, SEXP args, SEXP rho) {
  const SEXP value = plain_register(call, op, args, rho);
  // R has looked at the arguments: an environment or a pointer, a function, TRUE or FALSE.
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

// finalizers(): a list of list(environment, function, call it at the end?), the oldest first; NULL when they
// are not known.
SEXP finalizers() {
  if (plain_register == nullptr) return R_NilValue;
  clear_noted();
  const Kept all(Rf_allocVector(VECSXP, count));
  R_xlen_t i = count;
  for (SEXP cell = CDR(noted); cell != R_NilValue; cell = CDR(cell)) {
    const SEXP one = Rf_allocVector(VECSXP, 3);
    SET_VECTOR_ELT(all, --i, one);
    SET_VECTOR_ELT(one, 0, R_WeakRefKey(CAR(cell)));
    SET_VECTOR_ELT(one, 1, VECTOR_ELT(R_WeakRefValue(CAR(cell)), 0));
    SET_VECTOR_ELT(one, 2, VECTOR_ELT(R_WeakRefValue(CAR(cell)), 1));
  }
  return all;
}

}  // namespace

std::vector<Routine> finalizer_routines() {
  return {routine("note_finalizers", note_finalizers), routine("finalizers", finalizers)};
}

}  // namespace remotist::volunteer::checkpoint
