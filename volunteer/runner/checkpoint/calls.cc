// Finds calls in expressions, for analysis.R and rewrite.R.
#include <cstring>
#include <unordered_set>

#include "volunteer/runner/checkpoint/native.h"

namespace remotist::volunteer::checkpoint {

namespace {

using Names = std::unordered_set<SEXP>;

Names set_of(SEXP names) {
  Names set;
  for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) set.insert(STRING_ELT(names, i));
  return set;
}

// "f" for f(x) and pkg::f(x), "" for anything else.
SEXP head_name(SEXP call) {
  const SEXP head = CAR(call);
  if (TYPEOF(head) == SYMSXP) return PRINTNAME(head);
  if (TYPEOF(head) == LANGSXP && TYPEOF(CAR(head)) == SYMSXP && Rf_length(head) == 3) {
    const char* const word = CHAR(PRINTNAME(CAR(head)));
    if (std::strcmp(word, "::") == 0 || std::strcmp(word, ":::") == 0) {
      const SEXP name = CADDR(head);
      if (TYPEOF(name) == SYMSXP) return PRINTNAME(name);
      if (TYPEOF(name) == STRSXP && Rf_xlength(name) == 1) return STRING_ELT(name, 0);
    }
  }
  return R_BlankString;
}

class Calls {
 public:
  Calls(SEXP wanted, SEXP skipped)
      : all_(wanted == R_NilValue), wanted_(set_of(wanted)), skipped_(set_of(skipped)) {}

  // Each call once, outermost first; calls to a skipped name are left out with everything in them.
  void visit(SEXP e) {
    switch (TYPEOF(e)) {
      case LANGSXP: {
        const SEXP name = head_name(e);
        if (skipped_.count(name) != 0) return;
        if (all_ || wanted_.count(name) != 0) found_.push_back(e);
        visit_elements(e);
        break;
      }
      case LISTSXP:
        visit_elements(e);
        break;
      case EXPRSXP:
        for (R_xlen_t i = 0; i < Rf_xlength(e); ++i) visit(VECTOR_ELT(e, i));
        break;
      default:
        break;
    }
  }

  SEXP found() const {
    const Protected list(Rf_allocVector(VECSXP, static_cast<R_xlen_t>(found_.size())));
    R_xlen_t i = 0;
    for (const SEXP call : found_) SET_VECTOR_ELT(list, i++, call);
    return list;
  }

 private:
  void visit_elements(SEXP list) {
    for (; list != R_NilValue; list = CDR(list)) visit(CAR(list));
  }

  bool all_;
  Names wanted_;
  Names skipped_;
  std::vector<SEXP> found_;
};

SEXP calls_to(SEXP e, SEXP wanted, SEXP skipped) {
  Calls calls(wanted, skipped);
  calls.visit(e);
  return calls.found();
}

SEXP head_names(SEXP calls) {
  const R_xlen_t count = Rf_xlength(calls);
  const Protected names(Rf_allocVector(STRSXP, count));
  for (R_xlen_t i = 0; i < count; ++i) SET_STRING_ELT(names, i, head_name(VECTOR_ELT(calls, i)));
  return names;
}

bool has_only(SEXP e, const Names& names) {
  if (TYPEOF(e) == LANGSXP && (TYPEOF(CAR(e)) != SYMSXP || names.count(PRINTNAME(CAR(e))) == 0)) return false;
  if (TYPEOF(e) != LANGSXP && TYPEOF(e) != LISTSXP) return true;
  for (; e != R_NilValue; e = CDR(e)) {
    if (!has_only(CAR(e), names)) return false;
  }
  return true;
}

SEXP only_calls(SEXP e, SEXP names) {
  return Rf_ScalarLogical(has_only(e, set_of(names)));
}

bool mentions_symbol(SEXP e, SEXP symbol) {
  for (; TYPEOF(e) == LANGSXP || TYPEOF(e) == LISTSXP; e = CDR(e)) {
    if (CAR(e) == symbol || mentions_symbol(CAR(e), symbol)) return true;
  }
  return false;
}

SEXP has_symbol(SEXP e, SEXP symbol) {
  return Rf_ScalarLogical(e == symbol || mentions_symbol(e, symbol));
}

}  // namespace

std::vector<Routine> calls_routines() {
  return {routine("calls_to", calls_to), routine("head_names", head_names), routine("only_calls", only_calls),
          routine("has_symbol", has_symbol)};
}

}  // namespace remotist::volunteer::checkpoint
