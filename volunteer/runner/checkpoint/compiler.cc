// The most frequent lookups of R's compiler, in C++: where a name is bound, which names a body assigns. The
// results are those of the corresponding functions of package compiler; where the result is uncertain here,
// faster_compiler.R calls those.
#include <array>
#include <cstring>
#include <string_view>
#include <unordered_set>

#include "volunteer/runner/checkpoint/native.h"

namespace remotist::volunteer::checkpoint {

namespace {

// Names that mean R's own functions wherever no local variable has that name.
std::unordered_set<SEXP>& language_names() {
  static std::unordered_set<SEXP> names;
  return names;
}

SEXP set_language_names(SEXP names) {
  for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) {
    language_names().insert(Rf_installTrChar(STRING_ELT(names, i)));
  }
  return R_NilValue;
}

SEXP symbol_of(SEXP name) {
  return TYPEOF(name) == SYMSXP ? name : Rf_installTrChar(STRING_ELT(name, 0));
}

enum class Kind : unsigned char { kNowhere, kLocal, kNamespace, kGlobal };

struct Binding {
  SEXP frame = R_NilValue;
  Kind kind = Kind::kNowhere;
};

bool is_among(SEXP names, SEXP name) {
  for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) {
    if (STRING_ELT(names, i) == name) return true;
  }
  return false;
}

Kind kind_of(SEXP kinds, R_xlen_t at) {
  if (at >= Rf_xlength(kinds)) return Kind::kNowhere;
  switch (*CHAR(STRING_ELT(kinds, at))) {
    case 'l':
      return Kind::kLocal;
    case 'n':
      return Kind::kNamespace;
    default:
      return Kind::kGlobal;
  }
}

// `scope` is the compiler's list(extra, env, ftypes): names that will be bound, the frames, and their kinds.
Binding find(SEXP symbol, SEXP scope) {
  const SEXP extra = VECTOR_ELT(scope, 0);
  const SEXP name = PRINTNAME(symbol);
  R_xlen_t at = 0;
  for (SEXP env = VECTOR_ELT(scope, 1); env != R_EmptyEnv; env = R_ParentEnv(env), ++at) {
    if ((at < Rf_xlength(extra) && is_among(VECTOR_ELT(extra, at), name)) ||
        R_existsVarInFrame(env, symbol) != FALSE) {
      return {env, kind_of(VECTOR_ELT(scope, 2), at)};
    }
  }
  return {};
}

SEXP is_bound(SEXP name, SEXP scope) {
  return Rf_ScalarLogical(find(symbol_of(name), scope).kind != Kind::kNowhere);
}

SEXP is_local(SEXP name, SEXP scope) {
  return Rf_ScalarLogical(find(symbol_of(name), scope).kind == Kind::kLocal);
}

bool is_certain(SEXP symbol, double optimize) {
  return optimize >= 3 || (optimize >= 2 && language_names().count(symbol) != 0);
}

bool is_base_frame(SEXP frame) {
  return frame == R_BaseEnv || frame == R_BaseNamespace;
}

// Whether a name is bound in base; NA where it is found in a namespace.
int is_base(SEXP symbol, SEXP scope, double optimize) {
  if (optimize <= 0) return FALSE;
  const Binding binding = find(symbol, scope);
  if (binding.kind == Kind::kNamespace) return NA_LOGICAL;
  return binding.kind == Kind::kGlobal && is_certain(symbol, optimize) && is_base_frame(binding.frame)
             ? TRUE
             : FALSE;
}

SEXP is_base_name(SEXP name, SEXP scope, SEXP optimize) {
  return Rf_ScalarLogical(is_base(symbol_of(name), scope, Rf_asReal(optimize)));
}

SEXP package_name(SEXP frame) {
  const SEXP name = Rf_getAttrib(frame, Rf_install("name"));
  if (TYPEOF(name) != STRSXP) return Rf_mkString(frame == R_BaseEnv ? "base" : "");
  std::string text = CHAR(STRING_ELT(name, 0));
  constexpr const char* kPackage = "package:";
  if (const auto at = text.find(kPackage); at != std::string::npos) text.erase(at, std::strlen(kPackage));
  return Rf_mkString(text.c_str());
}

// list(frame, package, guard) of a function that may be inlined, else NULL; NA where it is found in a
// namespace.
SEXP inline_info(SEXP name, SEXP scope, SEXP optimize, SEXP guard_fine) {
  const SEXP symbol = symbol_of(name);
  const double level = Rf_asReal(optimize);
  if (level <= 0 || std::strcmp(CHAR(PRINTNAME(symbol)), "standardGeneric") == 0) return R_NilValue;
  const Binding binding = find(symbol, scope);
  if (binding.kind == Kind::kNamespace) return Rf_ScalarLogical(NA_LOGICAL);
  if (binding.kind != Kind::kGlobal) return R_NilValue;
  const bool certain = is_certain(symbol, level);
  if (!certain && Rf_asLogical(guard_fine) != TRUE) return R_NilValue;
  const Protected package(package_name(binding.frame));
  if (!certain && std::strcmp(CHAR(STRING_ELT(package, 0)), "base") != 0) return R_NilValue;
  const Protected info(Rf_allocVector(VECSXP, 3));
  SET_VECTOR_ELT(info, 0, binding.frame);
  SET_VECTOR_ELT(info, 1, package);
  SET_VECTOR_ELT(info, 2, Rf_ScalarLogical(certain ? FALSE : TRUE));
  const Protected names(Rf_allocVector(STRSXP, 3));
  constexpr std::array<const char*, 3> kNames = {"frame", "package", "guard"};
  for (R_xlen_t i = 0; i < 3; ++i) SET_STRING_ELT(names, i, Rf_mkChar(kNames[static_cast<std::size_t>(i)]));
  Rf_setAttrib(info, R_NamesSymbol, names);
  return info;
}

// --- names that a body assigns

class LocalNames {
 public:
  explicit LocalNames(SEXP shadowed) {
    for (R_xlen_t i = 0; i < Rf_xlength(shadowed); ++i) shadowed_.insert(STRING_ELT(shadowed, i));
  }

  void visit(SEXP e) {
    if (TYPEOF(e) != LANGSXP) return;
    const SEXP head = CAR(e);
    if (TYPEOF(head) == SYMSXP) {
      visit_call(e, PRINTNAME(head));
    } else if (TYPEOF(head) == STRSXP && Rf_xlength(head) == 1) {
      visit_call(e, STRING_ELT(head, 0));
    } else {
      for (SEXP rest = e; rest != R_NilValue; rest = CDR(rest)) visit(CAR(rest));
    }
  }

  // The names; NULL for code that the compiler would warn about.
  SEXP found() const {
    if (unsupported_) return R_NilValue;
    const Protected names(Rf_allocVector(STRSXP, static_cast<R_xlen_t>(names_.size())));
    R_xlen_t i = 0;
    for (const SEXP name : names_) SET_STRING_ELT(names, i++, name);
    return names;
  }

 private:
  void visit_call(SEXP e, SEXP name) {
    const std::string_view word = CHAR(name);
    if (word == "function" || word == "~") return;
    SEXP arguments = CDR(e);
    if (word == "<-" || word == "=") {
      add_target(arguments);
    } else if (word == "for") {
      add_variable(arguments);
    } else if (word == "assign" || word == "delayedAssign") {
      visit_assign(e);
      return;
    } else if (word == "local") {
      if (shadowed_.count(name) == 0 && Rf_length(e) == 2) return;
    } else if (word == "expression" || word == "quote") {
      if (shadowed_.count(name) == 0) return;
    }
    for (; arguments != R_NilValue; arguments = CDR(arguments)) visit(CAR(arguments));
  }

  void add_target(SEXP arguments) {
    if (arguments == R_NilValue) {
      unsupported_ = true;
      return;
    }
    SEXP target = CAR(arguments);
    if (TYPEOF(target) == STRSXP && Rf_xlength(target) == 1) {
      add(STRING_ELT(target, 0));
      return;
    }
    while (TYPEOF(target) == LANGSXP && CDR(target) != R_NilValue) target = CADR(target);
    add_symbol(target);
  }

  void add_variable(SEXP arguments) { add_symbol(arguments == R_NilValue ? R_NilValue : CAR(arguments)); }

  void visit_assign(SEXP e) {
    if (Rf_length(e) != 3 || TYPEOF(CADR(e)) != STRSXP || Rf_xlength(CADR(e)) != 1) return;
    add(STRING_ELT(CADR(e), 0));
    visit(CADDR(e));
  }

  void add_symbol(SEXP target) {
    if (TYPEOF(target) == SYMSXP && target != R_MissingArg) {
      add(PRINTNAME(target));
    } else {
      unsupported_ = true;
    }
  }

  void add(SEXP name) { names_.insert(name); }

  std::unordered_set<SEXP> shadowed_;
  std::unordered_set<SEXP> names_;
  bool unsupported_ = false;
};

SEXP local_names(SEXP parts, SEXP shadowed) {
  if (TYPEOF(parts) != VECSXP) return R_NilValue;
  LocalNames locals(shadowed);
  for (R_xlen_t i = 0; i < Rf_xlength(parts); ++i) locals.visit(VECTOR_ELT(parts, i));
  return locals.found();
}

// --- properties of an expression

// False when a part of the expression is certainly not constant.
bool may_be_constant(SEXP e) {
  if (TYPEOF(e) == SYMSXP) {
    const std::string_view name = CHAR(PRINTNAME(e));
    return name == "T" || name == "F" || name == "pi";
  }
  if (TYPEOF(e) != LANGSXP) return true;
  if (TYPEOF(CAR(e)) != SYMSXP) return false;
  for (SEXP rest = CDR(e); rest != R_NilValue; rest = CDR(rest)) {
    if (!may_be_constant(CAR(rest))) return false;
  }
  return true;
}

SEXP may_fold(SEXP e) {
  return Rf_ScalarLogical(may_be_constant(e));
}

// Whether a loop with the body `e` needs no context of its own.
class LoopBody {
 public:
  LoopBody(SEXP scope, double optimize) : scope_(scope), optimize_(optimize) {}

  bool needs_no_context(SEXP e, bool may_break) {
    if (TYPEOF(e) != LANGSXP) return true;
    const SEXP head = CAR(e);
    if (TYPEOF(head) != SYMSXP) return all_need_none(e, false);
    const std::string_view name = CHAR(PRINTNAME(head));
    if (!may_break && (name == "break" || name == "next")) return false;
    if ((name == "function" || name == "for" || name == "while" || name == "repeat") && is_own(head))
      return true;
    if ((name == "(" || name == "{" || name == "if") && is_own(head)) return all_need_none(CDR(e), may_break);
    if (name == "eval" || name == "evalq" || name == "source") return false;
    return all_need_none(CDR(e), false);
  }

  bool unsure() const { return unsure_; }

 private:
  bool all_need_none(SEXP list, bool may_break) {
    for (; list != R_NilValue; list = CDR(list)) {
      if (!needs_no_context(CAR(list), may_break)) return false;
    }
    return true;
  }

  bool is_own(SEXP symbol) {
    const int base = is_base(symbol, scope_, optimize_);
    if (base == NA_LOGICAL) unsure_ = true;
    return base == TRUE;
  }

  SEXP scope_;
  double optimize_;
  bool unsure_ = false;
};

SEXP needs_no_context(SEXP e, SEXP scope, SEXP optimize, SEXP may_break) {
  LoopBody body(scope, Rf_asReal(optimize));
  const bool none = body.needs_no_context(e, Rf_asLogical(may_break) == TRUE);
  return Rf_ScalarLogical(body.unsure() ? NA_LOGICAL : static_cast<int>(none));
}

}  // namespace

std::vector<Routine> compiler_routines() {
  return {routine("set_language_names", set_language_names),
          routine("is_bound", is_bound),
          routine("is_local", is_local),
          routine("is_base_name", is_base_name),
          routine("inline_info", inline_info),
          routine("local_names", local_names),
          routine("may_fold", may_fold),
          routine("needs_no_context", needs_no_context)};
}

}  // namespace remotist::volunteer::checkpoint
