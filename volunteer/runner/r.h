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

// Keeps a value from the collector for a scope.
class Kept {
 public:
  explicit Kept(SEXP value) : value_(PROTECT(value)) {}
  ~Kept() { UNPROTECT(1); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;
  operator SEXP() const { return value_; }

 private:
  SEXP value_;
};

}  // namespace remotist::volunteer
