// R's C interface as this program uses it.
#pragma once

#define R_NO_REMAP
#define STRICT_R_HEADERS
#include <Rinternals.h>
//
#include <R_ext/Parse.h>
#include <Rembedded.h>
#define R_INTERFACE_PTRS
#define CSTACK_DEFNS
#include <Rinterface.h>

namespace remotist::volunteer {

// Protects a value from the garbage collector for a scope.
class Protected {
 public:
  explicit Protected(SEXP value) : value_(PROTECT(value)) {}
  ~Protected() { UNPROTECT(1); }
  Protected(const Protected&) = delete;
  Protected& operator=(const Protected&) = delete;
  operator SEXP() const { return value_; }

 private:
  SEXP value_;
};

}  // namespace remotist::volunteer
