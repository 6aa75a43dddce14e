// Makes functions of this program callable from R code with .Call() and the like.
//
// R's thread.
#pragma once

#include <initializer_list>
#include <utility>

#include "volunteer/runner/r.h"

namespace remotist::volunteer {

template <class Function>
SEXP native_symbol(Function* function) {
  return R_MakeExternalPtrFn(reinterpret_cast<DL_FUNC>(reinterpret_cast<void*>(function)),
                             Rf_install("native symbol"), R_NilValue);
}

struct NamedNative {
  template <class Function>
  NamedNative(const char* r_name, Function* function)
      : name(r_name), pointer(reinterpret_cast<void (*)()>(reinterpret_cast<void*>(function))) {}
  const char* name;
  void (*pointer)();
};
inline SEXP native_symbols(std::initializer_list<NamedNative> functions) {
  const auto count = static_cast<R_xlen_t>(functions.size());
  const Protected list(Rf_allocVector(VECSXP, count));
  const Protected names(Rf_allocVector(STRSXP, count));
  R_xlen_t at = 0;
  for (const auto& one : functions) {
    SET_VECTOR_ELT(list, at, native_symbol(one.pointer));
    SET_STRING_ELT(names, at++, Rf_mkChar(one.name));
  }
  Rf_setAttrib(list, R_NamesSymbol, names);
  return list;
}

}  // namespace remotist::volunteer
