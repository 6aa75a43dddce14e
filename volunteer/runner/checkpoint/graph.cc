// Walks over all objects that can be reached from a value, without forcing a promise or calling a function.
#include <cstring>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "volunteer/runner/checkpoint/native.h"
#include "volunteer/runner/r_table.h"

extern "C" {
SEXP R_lsInternal3(SEXP environment, Rboolean all, Rboolean sorted);
SEXP PRCODE(SEXP);
SEXP PRENV(SEXP);
SEXP PRVALUE(SEXP);
void SET_PRVALUE(SEXP, SEXP);
void SET_PRCODE(SEXP, SEXP);
}

namespace remotist::volunteer::checkpoint {

namespace {

// Attributes with pointers that packages create again when they are missing.
bool is_renewable(SEXP attribute_cell) {
  const SEXP tag = TAG(attribute_cell);
  if (TYPEOF(tag) != SYMSXP) return false;
  const char* const name = CHAR(PRINTNAME(tag));
  return std::strcmp(name, "versionKey") == 0 || std::strcmp(name, ".internal.selfref") == 0 ||
         std::strcmp(name, "conn_id") == 0;
}

class ObjectWalk {
 public:
  // Called once for each object; an object for which it returns false is not entered.
  using Visit = std::function<bool(SEXP)>;
  explicit ObjectWalk(Visit visit) : visit_(std::move(visit)) {}

  void exclude(SEXP x) { seen_.insert(x); }

  void from(SEXP root) {
    push(root);
    while (!pending_.empty()) {
      const SEXP x = pending_.back();
      pending_.pop_back();
      if (visit_(x)) enter(x);
    }
  }

 private:
  void push(SEXP x) {
    switch (TYPEOF(x)) {
      case NILSXP:
      case SYMSXP:
      case CHARSXP:
      case BUILTINSXP:
      case SPECIALSXP:
        return;
      case INTSXP:
      case REALSXP:
      case LGLSXP:
      case STRSXP:
      case RAWSXP:
      case CPLXSXP:
        if (ATTRIB(x) == R_NilValue) return;
        break;
      case ENVSXP:
        if (is_known_to_r(x) || package_environment_number(x) != 0) return;
        break;
      default:
        break;
    }
    if (seen_.insert(x).second) pending_.push_back(x);
  }

  void enter(SEXP x) {
    switch (TYPEOF(x)) {
      case ENVSXP:
        enter_environment(x);
        break;
      case CLOSXP:
        push(CLOENV(x));
        push(FORMALS(x));
        push(BODY(x));
        break;
      case PROMSXP:
        push(PRCODE(x));
        push(PRENV(x));
        if (PRVALUE(x) != R_UnboundValue) push(PRVALUE(x));
        return;
      case BCODESXP:
        push(CDR(x));
        return;
      case VECSXP:
      case EXPRSXP:
        for (R_xlen_t i = 0; i < Rf_xlength(x); ++i) push(VECTOR_ELT(x, i));
        break;
      case LISTSXP:
      case LANGSXP:
      case DOTSXP:
        if (TYPEOF(x) != LISTSXP || !is_renewable(x)) push(CAR(x));
        push(CDR(x));
        break;
      case EXTPTRSXP:
        push(R_ExternalPtrTag(x));
        push(R_ExternalPtrProtected(x));
        break;
      default:
        break;
    }
    if (ATTRIB(x) != R_NilValue) push(ATTRIB(x));
  }

  void enter_environment(SEXP x) {
    push(R_ParentEnv(x));
    const Protected names(variables_in(x));
    for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) {
      const SEXP symbol = Rf_installTrChar(STRING_ELT(names, i));
      if (R_BindingIsActive(symbol, x) != FALSE) {
        push(R_ActiveBindingFunction(symbol, x));
      } else {
        const SEXP value = Rf_findVarInFrame3(x, symbol, FALSE);
        if (value != R_UnboundValue && value != R_MissingArg) push(value);
      }
    }
  }

  Visit visit_;
  std::unordered_set<SEXP> seen_;
  std::vector<SEXP> pending_;
};

bool is_hash_table(SEXP x) {
  return TYPEOF(x) == VECSXP && Rf_xlength(x) == 1 && TYPEOF(VECTOR_ELT(x, 0)) == EXTPTRSXP &&
         Rf_inherits(x, "hashtab") != FALSE;
}

// The flag that an object is a copy of, or null.
SEXP flag_for(SEXP x) {
  static const SEXP symbol = Rf_install("remotist.flag");
  if ((TYPEOF(x) != INTSXP && TYPEOF(x) != LGLSXP) || Rf_getAttrib(x, symbol) == R_NilValue) return nullptr;
  return TYPEOF(x) == INTSXP ? the_flag() : flag_in_code();
}

// A data.table is over-allocated, which R does not serialise, and has a pointer to itself. R writes a copy of
// the table for each reference to it, but the pointer once: copies with the same pointer are one table.
SEXP self_symbol() {
  static const SEXP symbol = Rf_install(".internal.selfref");
  return symbol;
}

SEXP self_of(SEXP x) {
  if (TYPEOF(x) != VECSXP) return nullptr;
  const SEXP self = Rf_getAttrib(x, self_symbol());
  return TYPEOF(self) == EXTPTRSXP ? self : nullptr;
}

// The tag of the pointer in a table that R copied as a list, whose pointer refers to another table.
SEXP copied_symbol() {
  static const SEXP symbol = Rf_install("remotist.copied");
  return symbol;
}

// mark_tables(values): before they are written, gives such copies a pointer of their own.
SEXP mark_tables(SEXP root) {
  std::vector<SEXP> copied;
  ObjectWalk([&copied](SEXP x) {
    if (const SEXP self = self_of(x); self != nullptr) {
      const SEXP inner = R_ExternalPtrProtected(self);
      if (TYPEOF(inner) != EXTPTRSXP || R_ExternalPtrAddr(inner) != x) copied.push_back(x);
    }
    return true;
  }).from(root);
  for (const SEXP x : copied) {
    const Protected self(R_MakeExternalPtr(nullptr, copied_symbol(), R_NilValue));
    Rf_setAttrib(x, self_symbol(), self);
  }
  return R_NilValue;
}

// A promise that has not been evaluated may be in several frames: a function passes it on in `...`, or
// NextMethod() does. R writes a copy for each; this number identifies the copies, so that after a resume the
// promise is still evaluated once.
SEXP promise_symbol() {
  static const SEXP symbol = Rf_install("remotist.promise");
  return symbol;
}

// mark_promises(values), before they are written.
SEXP mark_promises(SEXP root) {
  std::vector<SEXP> open;
  ObjectWalk([&open](SEXP x) {
    if (TYPEOF(x) == PROMSXP && PRVALUE(x) == R_UnboundValue) open.push_back(x);
    return true;
  }).from(root);
  int number = 0;
  for (const SEXP x : open) {
    const Protected attributes(Rf_list1(Rf_ScalarInteger(++number)));
    SET_TAG(attributes, promise_symbol());
    SET_ATTRIB(x, attributes);
  }
  return R_NilValue;
}

using Replacements = std::unordered_map<SEXP, SEXP>;

void replace_in_environment(SEXP env, const Replacements& by) {
  const Protected names(variables_in(env));
  for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) {
    const SEXP symbol = Rf_installTrChar(STRING_ELT(names, i));
    if (R_BindingIsActive(symbol, env) != FALSE) continue;
    const auto found = by.find(Rf_findVarInFrame3(env, symbol, FALSE));
    if (found != by.end()) define(symbol, found->second, env);
  }
}

void replace(SEXP root, const Replacements& by) {
  ObjectWalk([&by](SEXP x) {
    switch (TYPEOF(x)) {
      case VECSXP:
        for (R_xlen_t i = 0; i < Rf_xlength(x); ++i) {
          if (const auto found = by.find(VECTOR_ELT(x, i)); found != by.end())
            SET_VECTOR_ELT(x, i, found->second);
        }
        break;
      case LISTSXP:
      case LANGSXP:
      case DOTSXP:
        if (const auto found = by.find(CAR(x)); found != by.end()) SETCAR(x, found->second);
        break;
      case PROMSXP:
        if (const auto found = by.find(PRVALUE(x)); found != by.end()) SET_PRVALUE(x, found->second);
        if (const auto found = by.find(PRCODE(x)); found != by.end()) SET_PRCODE(x, found->second);
        break;
      case ENVSXP:
        replace_in_environment(x, by);
        break;
      default:
        break;
    }
    return true;
  }).from(root);
}

// Joins the promises that were one when mark_promises() numbered them.
void join_promises(SEXP root, const std::vector<SEXP>& promises) {
  std::unordered_map<int, SEXP> first;
  Replacements by;
  for (const SEXP x : promises) {
    const auto [known, is_first] = first.emplace(Rf_asInteger(CAR(ATTRIB(x))), x);
    if (!is_first) by.emplace(x, known->second);
  }
  for (const SEXP x : promises) SET_ATTRIB(x, R_NilValue);
  if (!by.empty()) replace(root, by);
}

// relink(state, renew): after a checkpoint was read, replaces copies of the flags in code and expressions by
// the flags, and copies of data.tables and of promises by one each. `renew` is a function that yields an
// over-allocated copy of a data.table.
SEXP relink(SEXP root, SEXP renew) {
  std::vector<SEXP> hash_tables;
  std::vector<SEXP> data_tables;
  std::vector<SEXP> promises;
  ObjectWalk([&](SEXP x) {
    if (TYPEOF(x) == PROMSXP && ATTRIB(x) != R_NilValue && TAG(ATTRIB(x)) == promise_symbol())
      promises.push_back(x);
    if (TYPEOF(x) == VECSXP) {
      if (is_hash_table(x)) hash_tables.push_back(x);
      if (const SEXP self = self_of(x); self != nullptr && R_ExternalPtrTag(self) != copied_symbol())
        data_tables.push_back(x);
      for (R_xlen_t i = 0; i < Rf_xlength(x); ++i) {
        if (const SEXP flag = flag_for(VECTOR_ELT(x, i)); flag != nullptr) SET_VECTOR_ELT(x, i, flag);
      }
    } else if (TYPEOF(x) == LANGSXP || TYPEOF(x) == LISTSXP) {
      if (const SEXP flag = flag_for(CAR(x)); flag != nullptr) SETCAR(x, flag);
    }
    return true;
  }).from(root);
  join_promises(root, promises);
  // R rehashes a table that was read at the first lookup, which itself finds nothing.
  for (const SEXP table : hash_tables) R_gethash(R_asHashtable(table), R_NilValue, R_NilValue);
  if (data_tables.empty() || TYPEOF(renew) != CLOSXP) return R_NilValue;
  const Protected renewed(Rf_allocVector(VECSXP, static_cast<R_xlen_t>(data_tables.size())));
  Replacements by;
  Replacements by_self;
  R_xlen_t count = 0;
  for (const SEXP old : data_tables) {
    SEXP& fresh = by_self[self_of(old)];
    if (fresh == nullptr) {
      const Protected call(Rf_lang2(renew, old));
      fresh = Rf_eval(call, R_BaseEnv);
      SET_VECTOR_ELT(renewed, count++, fresh);
    }
    by.emplace(old, fresh);
  }
  replace(root, by);
  return R_NilValue;
}

void remove_hidden(SEXP env) {
  const Protected names(variables_in(env));
  for (R_xlen_t i = 0; i < Rf_xlength(names); ++i) {
    if (is_hidden_name(CHAR(STRING_ELT(names, i))))
      R_removeVarFromFrame(Rf_installTrChar(STRING_ELT(names, i)), env);
  }
}

// Removes the engine's variables from the global environment.
SEXP clean_global() {
  remove_hidden(R_GlobalEnv);
  return R_NilValue;
}

SEXP why_unsaveable_text(SEXP root, SEXP known) {
  return Rf_mkString(why_unsaveable(root, known));
}

// The functions in an environment that the script defined, not a package.
SEXP script_functions(SEXP env) {
  if (TYPEOF(env) != ENVSXP) return R_NilValue;
  const Protected all(bindings(env));
  std::vector<R_xlen_t> at;
  for (R_xlen_t i = 0; i < Rf_xlength(all); ++i) {
    if (TYPEOF(VECTOR_ELT(all, i)) != CLOSXP) continue;
    SEXP around = CLOENV(VECTOR_ELT(all, i));
    while (around != R_EmptyEnv && !is_known_to_r(around)) around = R_ParentEnv(around);
    if (around == R_GlobalEnv) at.push_back(i);
  }
  return select_elements(all, at);
}

SEXP bind(SEXP values, SEXP env) {
  const SEXP names = Rf_getAttrib(values, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(values); ++i) {
    Rf_defineVar(Rf_installTrChar(STRING_ELT(names, i)), VECTOR_ELT(values, i), env);
  }
  return R_NilValue;
}

}  // namespace

bool is_known_to_r(SEXP environment) {
  return environment == R_GlobalEnv || environment == R_BaseEnv || environment == R_BaseNamespace ||
         environment == R_EmptyEnv || R_IsNamespaceEnv(environment) != FALSE ||
         R_IsPackageEnv(environment) != FALSE;
}

const char* why_unsaveable(SEXP root, SEXP known) {
  const char* why = "";
  std::unordered_set<SEXP> tables;  // of hashtab(): R creates their pointer again
  ObjectWalk walk([&why, &tables](SEXP x) {
    if (*why != '\0') return false;
    switch (TYPEOF(x)) {
      case VECSXP:
        if (is_hash_table(x)) tables.insert(VECTOR_ELT(x, 0));
        return true;
      case EXTPTRSXP:
        if (name_of_pointer(x) != nullptr) return false;
        if (R_ExternalPtrAddr(x) != nullptr && !tables.contains(x)) why = "external pointer";
        return true;
      case WEAKREFSXP:
        why = "weak reference";
        return false;
      default:
        return true;
    }
  });
  for (R_xlen_t i = 0; i < Rf_xlength(known); ++i) walk.exclude(VECTOR_ELT(known, i));
  walk.from(root);
  return why;
}

SEXP variables_in(SEXP environment) {
  return R_lsInternal3(environment, TRUE, FALSE);
}

SEXP select_elements(SEXP list, const std::vector<R_xlen_t>& at) {
  const auto count = static_cast<R_xlen_t>(at.size());
  const Protected values(Rf_allocVector(VECSXP, count));
  const Protected names(Rf_allocVector(STRSXP, count));
  const SEXP all_names = Rf_getAttrib(list, R_NamesSymbol);
  for (R_xlen_t i = 0; i < count; ++i) {
    const R_xlen_t from = at[static_cast<std::size_t>(i)];
    SET_VECTOR_ELT(values, i, VECTOR_ELT(list, from));
    SET_STRING_ELT(names, i, STRING_ELT(all_names, from));
  }
  Rf_setAttrib(values, R_NamesSymbol, names);
  return values;
}

void define(SEXP symbol, SEXP value, SEXP environment) {
  const bool locked =
      R_existsVarInFrame(environment, symbol) != FALSE && R_BindingIsLocked(symbol, environment) != FALSE;
  if (locked) R_unLockBinding(symbol, environment);
  Rf_defineVar(symbol, value, environment);
  if (locked) R_LockBinding(symbol, environment);
}

SEXP bindings(SEXP environment) {
  const Protected names(variables_in(environment));
  const R_xlen_t count = Rf_xlength(names);
  const Protected values(Rf_allocVector(VECSXP, count));
  std::vector<R_xlen_t> at;
  for (R_xlen_t i = 0; i < count; ++i) {
    const SEXP symbol = Rf_installTrChar(STRING_ELT(names, i));
    if (R_BindingIsActive(symbol, environment) != FALSE) continue;
    SET_VECTOR_ELT(values, i, Rf_findVarInFrame3(environment, symbol, FALSE));
    at.push_back(i);
  }
  Rf_setAttrib(values, R_NamesSymbol, names);
  return static_cast<R_xlen_t>(at.size()) == count ? static_cast<SEXP>(values) : select_elements(values, at);
}

std::vector<bool> reached_by(SEXP root, SEXP known, SEXP environments) {
  std::unordered_set<SEXP> seen{R_GlobalEnv};
  ObjectWalk walk([&seen](SEXP x) {
    if (TYPEOF(x) == ENVSXP) seen.insert(x);
    return true;
  });
  for (R_xlen_t i = 0; i < Rf_xlength(known); ++i) walk.exclude(VECTOR_ELT(known, i));
  walk.from(root);
  std::vector<bool> reached;
  for (R_xlen_t i = 0; i < Rf_xlength(environments); ++i)
    reached.push_back(seen.contains(VECTOR_ELT(environments, i)) ||
                      package_environment_number(VECTOR_ELT(environments, i)) != 0);
  return reached;
}

SEXP clean(SEXP root) {
  ObjectWalk([](SEXP x) {
    if (TYPEOF(x) == CLOSXP && is_instrumented(BODY(x))) SET_BODY(x, R_ClosureExpr(x));
    if (TYPEOF(x) == ENVSXP && R_EnvironmentIsLocked(x) == FALSE) remove_hidden(x);
    return true;
  }).from(root);
  return R_NilValue;
}

std::vector<Routine> graph_routines() {
  return {routine("relink", relink),
          routine("mark_tables", mark_tables),
          routine("mark_promises", mark_promises),
          routine("clean", clean),
          routine("clean_global", clean_global),
          routine("why_unsaveable", why_unsaveable_text),
          routine("bindings", bindings),
          routine("script_functions", script_functions),
          routine("bind", bind)};
}

}  // namespace remotist::volunteer::checkpoint
