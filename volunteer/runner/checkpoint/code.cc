// Byte code that is compiled from rewritten expressions, but shows the script's own.
//
// A node of a rewritten expression has the attribute "remotist" (rewrite.R): a named list, here called its
// mark. finish_code() puts the originals back among the constants of the code and appends a marker that says
// which constant is the call with which number. A call in progress is identified by the address of its
// expression.
#include <cstring>

#include "volunteer/runner/checkpoint/native.h"

namespace remotist::volunteer::checkpoint {

namespace {

SEXP mark_symbol() {
  static const SEXP symbol = Rf_install("remotist");
  return symbol;
}

SEXP mark_of(SEXP node) {
  if (TYPEOF(node) != LANGSXP) return R_NilValue;
  const SEXP mark = Rf_getAttrib(node, mark_symbol());
  return TYPEOF(mark) == VECSXP ? mark : R_NilValue;
}

// An element of a mark; NULL where it has none.
SEXP element(SEXP mark, const char* name) {
  const SEXP names = Rf_getAttrib(mark, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) {
    if (std::strcmp(CHAR(STRING_ELT(names, i)), name) == 0) return VECTOR_ELT(mark, i);
  }
  return R_NilValue;
}

SEXP number_of(SEXP mark) {
  return element(mark, "number");
}

// The script's own expression; the node itself when nothing in it was rewritten.
SEXP original(SEXP node) {
  if (TYPEOF(node) != LANGSXP) return node;
  const SEXP mark = mark_of(node);
  if (mark != R_NilValue) return element(mark, "original");
  bool differs = false;
  const Protected parts(Rf_allocVector(VECSXP, Rf_length(node)));
  R_xlen_t i = 0;
  for (SEXP rest = node; rest != R_NilValue; rest = CDR(rest), ++i) {
    SET_VECTOR_ELT(parts, i, original(CAR(rest)));
    differs = differs || VECTOR_ELT(parts, i) != CAR(rest);
  }
  if (!differs) return node;
  const Protected copy(Rf_shallow_duplicate(node));
  i = 0;
  for (SEXP rest = copy; rest != R_NilValue; rest = CDR(rest), ++i) SETCAR(rest, VECTOR_ELT(parts, i));
  return copy;
}

// The compiler's handlers: an environment whose names are the functions that it inlines.
SEXP inlined = nullptr;

SEXP set_inlined(SEXP handlers) {
  R_PreserveObject(handlers);
  inlined = handlers;
  return R_NilValue;
}

// R may evaluate the call's expression: for a primitive that evaluates its own arguments, for a dispatch on
// an object, for a masked function of R. Then the rewritten expression must stay among the constants.
bool may_be_evaluated(SEXP call) {
  const SEXP head = CAR(call);
  if (TYPEOF(head) != SYMSXP) return false;
  const auto type = TYPEOF(Rf_findVarInFrame(R_BaseEnv, head));
  if (type == SPECIALSXP || type == BUILTINSXP) return true;
  return inlined == nullptr || Rf_findVarInFrame(inlined, head) != R_UnboundValue;
}

void finish(SEXP code, SEXP info) {
  const SEXP constants = CDR(code);
  const R_xlen_t count = Rf_xlength(constants);
  const Protected grown(Rf_allocVector(VECSXP, count + 1));
  std::vector<int> at;
  std::vector<int> numbers;
  for (R_xlen_t i = 0; i < count; ++i) {
    SEXP one = VECTOR_ELT(constants, i);
    if (one == the_flag()) {
      one = flag_in_code();
    } else if (TYPEOF(one) == BCODESXP) {
      if (!is_instrumented(one)) finish(one, R_NilValue);
    } else if (TYPEOF(one) == LANGSXP) {
      const SEXP mark = mark_of(one);
      const SEXP number = number_of(mark);
      if (number != R_NilValue) {
        at.push_back(static_cast<int>(i));
        numbers.push_back(Rf_asInteger(number));
        // Each call gets its own object: sites are identified by address.
        const Protected plain(may_be_evaluated(one) ? one : original(one));
        one = TYPEOF(plain) == LANGSXP ? Rf_shallow_duplicate(plain) : static_cast<SEXP>(plain);
        if (TYPEOF(one) == LANGSXP) {
          const Protected bare(one);
          Rf_setAttrib(bare, mark_symbol(), R_NilValue);
        }
      } else if (!may_be_evaluated(one)) {
        one = original(one);
      }
    }
    SET_VECTOR_ELT(grown, i, one);
  }
  const Protected marker(Rf_allocVector(VECSXP, kMarkerFields));
  SET_VECTOR_ELT(marker, kInfo, info);
  const auto length = static_cast<R_xlen_t>(at.size());
  SET_VECTOR_ELT(marker, kSiteConstants, Rf_allocVector(INTSXP, length));
  SET_VECTOR_ELT(marker, kSiteNumbers, Rf_allocVector(INTSXP, length));
  for (R_xlen_t i = 0; i < length; ++i) {
    INTEGER(VECTOR_ELT(marker, kSiteConstants))[i] = at[static_cast<std::size_t>(i)];
    INTEGER(VECTOR_ELT(marker, kSiteNumbers))[i] = numbers[static_cast<std::size_t>(i)];
  }
  Rf_setAttrib(marker, mark_symbol(), Rf_ScalarLogical(TRUE));
  SET_VECTOR_ELT(grown, count, marker);
  SETCDR(code, grown);
}

// Puts the script's expressions into compiled code; `body` is what body() of the function shows.
SEXP finish_code(SEXP code, SEXP body, SEXP info) {
  if (TYPEOF(code) != BCODESXP) return code;
  finish(code, info);
  SET_VECTOR_ELT(CDR(code), 0, body);
  return code;
}

int number_in(SEXP code, SEXP call) {
  const SEXP constants = CDR(code);
  const SEXP marker = marker_of(code);
  if (marker != R_NilValue) {
    const SEXP at = VECTOR_ELT(marker, kSiteConstants);
    for (R_xlen_t i = 0; i < Rf_xlength(at); ++i) {
      if (VECTOR_ELT(constants, INTEGER(at)[i]) == call) return INTEGER(VECTOR_ELT(marker, kSiteNumbers))[i];
    }
  }
  for (R_xlen_t i = 0; i < Rf_xlength(constants); ++i) {
    const SEXP one = VECTOR_ELT(constants, i);
    if (TYPEOF(one) != BCODESXP) continue;
    if (const int number = number_in(one, call); number != 0) return number;
  }
  return 0;
}

// The number of the site whose call is `call`, in the code or in the code of its promises; 0 when there is
// none.
SEXP site(SEXP code, SEXP call) {
  return Rf_ScalarInteger(TYPEOF(code) == BCODESXP ? number_in(code, call) : 0);
}

// Whether it is the mark of a function, a loop or an operator whose operand stays on the stack.
bool has_more_than_number(SEXP mark) {
  constexpr R_xlen_t kNumberAndOriginal = 2;
  return Rf_xlength(mark) > kNumberAndOriginal;
}

// Whether the rewriting only gave numbers to some calls.
bool is_only_numbered(SEXP rewritten, SEXP e) {
  if (rewritten == e) return true;
  if (TYPEOF(rewritten) != LANGSXP || TYPEOF(e) != LANGSXP) return false;
  if (has_more_than_number(mark_of(rewritten))) return false;
  for (; rewritten != R_NilValue && e != R_NilValue; rewritten = CDR(rewritten), e = CDR(e)) {
    if (!is_only_numbered(CAR(rewritten), CAR(e))) return false;
  }
  return rewritten == e;
}

SEXP only_numbered(SEXP rewritten, SEXP e) {
  return Rf_ScalarLogical(is_only_numbered(rewritten, e));
}

int number_in_text(SEXP e, SEXP rewritten, SEXP call) {
  if (TYPEOF(e) != LANGSXP) return 0;
  if (e == call) {
    const SEXP number = number_of(mark_of(rewritten));
    return number == R_NilValue ? 0 : Rf_asInteger(number);
  }
  for (; e != R_NilValue; e = CDR(e), rewritten = CDR(rewritten)) {
    if (const int number = number_in_text(CAR(e), CAR(rewritten), call); number != 0) return number;
  }
  return 0;
}

// The same for an expression that is interpreted, and was only numbered.
SEXP site_in_expression(SEXP e, SEXP rewritten, SEXP call) {
  return Rf_ScalarInteger(number_in_text(e, rewritten, call));
}

bool has_held_site(SEXP e, int site) {
  if (TYPEOF(e) == LANGSXP) {
    const SEXP held_site = element(mark_of(e), "held_site");
    if (TYPEOF(held_site) == INTSXP && INTEGER_ELT(held_site, 0) == site) return true;
  }
  for (; TYPEOF(e) == LANGSXP || TYPEOF(e) == LISTSXP; e = CDR(e)) {
    if (has_held_site(CAR(e), site)) return true;
  }
  return false;
}

// Whether R's stack holds an operand of the rewritten body while the site is in progress.
SEXP has_stack_value(SEXP body, SEXP site) {
  return Rf_ScalarLogical(has_held_site(body, Rf_asInteger(site)));
}

SEXP code_of(SEXP function) {
  return TYPEOF(function) == CLOSXP ? BODY(function) : R_NilValue;
}

// What with_body() in rewrite.R keeps about a function; NULL for a function that was not rewritten.
SEXP info_of(SEXP function) {
  return TYPEOF(function) == CLOSXP ? info_in(BODY(function)) : R_NilValue;
}

}  // namespace

SEXP marker_of(SEXP code) {
  if (TYPEOF(code) != BCODESXP) return R_NilValue;
  const SEXP constants = CDR(code);
  const R_xlen_t count = Rf_xlength(constants);
  if (count < 2) return R_NilValue;
  const SEXP last = VECTOR_ELT(constants, count - 1);
  if (TYPEOF(last) != VECSXP || Rf_xlength(last) != kMarkerFields) return R_NilValue;
  return Rf_getAttrib(last, mark_symbol()) == R_NilValue ? R_NilValue : last;
}

SEXP info_in(SEXP code) {
  const SEXP marker = marker_of(code);
  return marker == R_NilValue ? R_NilValue : VECTOR_ELT(marker, kInfo);
}

bool is_instrumented(SEXP code) {
  return marker_of(code) != R_NilValue;
}

bool is_hidden_name(const char* name) {
  return std::strncmp(name, ".cp.", 4) == 0;
}

std::vector<Routine> code_routines() {
  return {routine("finish_code", finish_code),
          routine("set_inlined", set_inlined),
          routine("site", site),
          routine("only_numbered", only_numbered),
          routine("site_in_expression", site_in_expression),
          routine("code_of", code_of),
          routine("info_of", info_of),
          routine("has_stack_value", has_stack_value)};
}

}  // namespace remotist::volunteer::checkpoint
