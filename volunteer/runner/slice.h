// Copies a part of a vector, without attributes.
//
// R's thread.
#pragma once

#include "volunteer/runner/r.h"

namespace remotist::volunteer {

// Requires a vector and a range within it.
inline SEXP slice(SEXP vector, R_xlen_t from, R_xlen_t length) {
  const Protected out(Rf_allocVector(TYPEOF(vector), length));
  switch (TYPEOF(vector)) {
    case LGLSXP:
      LOGICAL_GET_REGION(vector, from, length, LOGICAL(out));
      break;
    case INTSXP:
      INTEGER_GET_REGION(vector, from, length, INTEGER(out));
      break;
    case REALSXP:
      REAL_GET_REGION(vector, from, length, REAL(out));
      break;
    case CPLXSXP:
      COMPLEX_GET_REGION(vector, from, length, COMPLEX(out));
      break;
    case RAWSXP:
      RAW_GET_REGION(vector, from, length, RAW(out));
      break;
    case STRSXP:
      for (R_xlen_t i = 0; i < length; ++i) SET_STRING_ELT(out, i, STRING_ELT(vector, from + i));
      break;
    default:
      for (R_xlen_t i = 0; i < length; ++i) SET_VECTOR_ELT(out, i, VECTOR_ELT(vector, from + i));
  }
  return out;
}

}  // namespace remotist::volunteer
