// Byte code that was compiled from rewritten expressions, and shows the script's own.
//
// A node of a rewritten expression has the attribute "remotist" = list(number or NULL, original). Here the
// constants of the code get the originals back, and a marker is put behind them that tells which constant is
// the call with which number: a call that is under way is known by the address of its expression.
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
  return TYPEOF(mark) == VECSXP && Rf_xlength(mark) >= 2 ? mark : R_NilValue;
}

// The expression as the script has it; the node itself when nothing in it was rewritten.
SEXP original(SEXP node) {
  if (TYPEOF(node) != LANGSXP) return node;
  const SEXP mark = mark_of(node);
  if (mark != R_NilValue) return VECTOR_ELT(mark, 1);
  bool differs = false;
  const Kept parts(Rf_allocVector(VECSXP, Rf_length(node)));
  R_xlen_t i = 0;
  for (SEXP rest = node; rest != R_NilValue; rest = CDR(rest), ++i) {
    SET_VECTOR_ELT(parts, i, original(CAR(rest)));
    differs = differs || VECTOR_ELT(parts, i) != CAR(rest);
  }
  if (!differs) return node;
  const Kept copy(Rf_shallow_duplicate(node));
  i = 0;
  for (SEXP rest = copy; rest != R_NilValue; rest = CDR(rest), ++i) SETCAR(rest, VECTOR_ELT(parts, i));
  return copy;
}

// The compiler's handlers: an environment whose names are the functions that it compiles in its own way.
SEXP inlined = nullptr;

SEXP set_inlined(SEXP handlers) {
  R_PreserveObject(handlers);
  inlined = handlers;
  return R_NilValue;
}

// R evaluates the expression of such a call itself: when it is a primitive that evaluates its own arguments,
// when an object is dispatched on, when a function of R is masked. Then the rewritten one must stand there.
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
  const Kept grown(Rf_allocVector(VECSXP, count + 1));
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
      const SEXP number = mark == R_NilValue ? R_NilValue : VECTOR_ELT(mark, 0);
      if (number != R_NilValue) {
        at.push_back(static_cast<int>(i));
        numbers.push_back(Rf_asInteger(number));
        // Each call its own object, or two sites with the same expression could not be told apart.
        const Kept plain(may_be_evaluated(one) ? one : original(one));
        one = TYPEOF(plain) == LANGSXP ? Rf_shallow_duplicate(plain) : static_cast<SEXP>(plain);
        if (TYPEOF(one) == LANGSXP) {
          const Kept bare(one);
          Rf_setAttrib(bare, mark_symbol(), R_NilValue);
        }
      } else if (!may_be_evaluated(one)) {
        one = original(one);
      }
    }
    SET_VECTOR_ELT(grown, i, one);
  }
  const Kept marker(Rf_allocVector(VECSXP, 3));
  SET_VECTOR_ELT(marker, 0, info);
  const auto length = static_cast<R_xlen_t>(at.size());
  SET_VECTOR_ELT(marker, 1, Rf_allocVector(INTSXP, length));
  SET_VECTOR_ELT(marker, 2, Rf_allocVector(INTSXP, length));
  for (R_xlen_t i = 0; i < length; ++i) {
    INTEGER(VECTOR_ELT(marker, 1))[i] = at[static_cast<std::size_t>(i)];
    INTEGER(VECTOR_ELT(marker, 2))[i] = numbers[static_cast<std::size_t>(i)];
  }
  Rf_setAttrib(marker, mark_symbol(), Rf_ScalarLogical(TRUE));
  SET_VECTOR_ELT(grown, count, marker);
  SETCDR(code, grown);
}

// Gives compiled code the script's expressions back; `body` is what the function shows as its body.
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
    const SEXP at = VECTOR_ELT(marker, 1);
    for (R_xlen_t i = 0; i < Rf_xlength(at); ++i) {
      if (VECTOR_ELT(constants, INTEGER(at)[i]) == call) return INTEGER(VECTOR_ELT(marker, 2))[i];
    }
  }
  for (R_xlen_t i = 0; i < Rf_xlength(constants); ++i) {
    const SEXP one = VECTOR_ELT(constants, i);
    if (TYPEOF(one) != BCODESXP) continue;
    if (const int number = number_in(one, call); number != 0) return number;
  }
  return 0;
}

// The number of the site whose call is `call`, in the code or in what it evaluates lazily; 0 when there is
// none.
SEXP site(SEXP code, SEXP call) {
  return Rf_ScalarInteger(TYPEOF(code) == BCODESXP ? number_in(code, call) : 0);
}

// Was nothing done to an expression but to give some of its calls numbers?
bool is_only_numbered(SEXP rewritten, SEXP e) {
  if (rewritten == e) return true;
  if (TYPEOF(rewritten) != LANGSXP || TYPEOF(e) != LANGSXP) return false;
  if (Rf_xlength(mark_of(rewritten)) > 2) return false;
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
    const SEXP mark = mark_of(rewritten);
    return mark == R_NilValue || VECTOR_ELT(mark, 0) == R_NilValue ? 0 : Rf_asInteger(VECTOR_ELT(mark, 0));
  }
  for (; e != R_NilValue; e = CDR(e), rewritten = CDR(rewritten)) {
    if (const int number = number_in_text(CAR(e), CAR(rewritten), call); number != 0) return number;
  }
  return 0;
}

// The same for an expression that is evaluated as it is, and was only numbered.
SEXP site_in_text(SEXP e, SEXP rewritten, SEXP call) {
  return Rf_ScalarInteger(number_in_text(e, rewritten, call));
}

bool holds(SEXP e, int site) {
  if (TYPEOF(e) == LANGSXP) {
    const SEXP mark = mark_of(e);
    if (Rf_xlength(mark) > 2 && TYPEOF(VECTOR_ELT(mark, 2)) == INTSXP &&
        INTEGER(VECTOR_ELT(mark, 2))[0] == site)
      return true;
  }
  for (; TYPEOF(e) == LANGSXP || TYPEOF(e) == LISTSXP; e = CDR(e)) {
    if (holds(CAR(e), site)) return true;
  }
  return false;
}

// Whether a rewritten body holds a value on R's stack while the site is under way.
SEXP holds_value(SEXP body, SEXP site) {
  return Rf_ScalarLogical(holds(body, Rf_asInteger(site)));
}

SEXP code_of(SEXP function) {
  return TYPEOF(function) == CLOSXP ? BODY(function) : R_NilValue;
}

// What the rewriter left for a function; NULL for a function that it did not touch.
SEXP info_of(SEXP function) {
  if (TYPEOF(function) != CLOSXP || TYPEOF(BODY(function)) != BCODESXP) return R_NilValue;
  const SEXP marker = marker_of(BODY(function));
  return marker == R_NilValue ? R_NilValue : VECTOR_ELT(marker, 0);
}

}  // namespace

SEXP marker_of(SEXP code) {
  if (TYPEOF(code) != BCODESXP) return R_NilValue;
  const SEXP constants = CDR(code);
  const R_xlen_t count = Rf_xlength(constants);
  if (count < 2) return R_NilValue;
  const SEXP last = VECTOR_ELT(constants, count - 1);
  if (TYPEOF(last) != VECSXP || Rf_xlength(last) != 3) return R_NilValue;
  return Rf_getAttrib(last, mark_symbol()) == R_NilValue ? R_NilValue : last;
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
          routine("site_in_text", site_in_text),
          routine("code_of", code_of),
          routine("info_of", info_of),
          routine("holds_value", holds_value)};
}

}  // namespace remotist::volunteer::checkpoint
