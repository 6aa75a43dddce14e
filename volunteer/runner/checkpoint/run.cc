// Runs a script's expressions one after the other at the top level, with no call of ours under them; and
// tells R code the routines of this library.
#include <cstring>
#include <map>
#include <unordered_map>

#include "volunteer/runner/checkpoint/native.h"

extern "C" {
extern Rboolean R_Visible;
extern char* R_TempDir;
extern SEXP R_Srcref;
}

namespace remotist::volunteer::checkpoint {

namespace {

SEXP engine = nullptr;  // the environment of the R side
std::map<std::string, SEXP>& pointers() {
  static std::map<std::string, SEXP> all;
  return all;
}

// Environments of R's own that scripts' values refer to, and that have no name in R.
std::map<std::string, SEXP>& named_environments() {
  static std::map<std::string, SEXP> all;
  return all;
}

std::unordered_map<SEXP, std::string>& names_of_environments() {
  static std::unordered_map<SEXP, std::string> all;
  return all;
}

// name_environments(named list): they belong to loaded packages, and stay.
SEXP name_environments(SEXP environments) {
  const SEXP names = Rf_getAttrib(environments, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(environments); ++i) {
    named_environments()[CHAR(STRING_ELT(names, i))] = VECTOR_ELT(environments, i);
    names_of_environments()[VECTOR_ELT(environments, i)] = CHAR(STRING_ELT(names, i));
  }
  R_PreserveObject(environments);
  return R_NilValue;
}

SEXP call_engine(const char* name, SEXP argument) {
  const Kept call(argument == nullptr ? Rf_lang1(Rf_findVarInFrame(engine, Rf_install(name)))
                                      : Rf_lang2(Rf_findVarInFrame(engine, Rf_install(name)), argument));
  return Rf_eval(call, engine);
}

// What compiled code calls at a safe point when the flag is up.
SEXP safe_point(SEXP number) {
  if (!is_wanted_here()) return R_NilValue;
  // A checkpoint must not be seen in what the script prints.
  const Rboolean visible = R_Visible;
  call_engine("at_safe_point", number);
  R_Visible = visible;
  return R_NilValue;
}

SEXP set_engine(SEXP env) {
  engine = env;
  R_PreserveObject(env);
  return R_NilValue;
}

void evaluate_one(void* code) {
  R_Visible = TRUE;
  // R compiles a loop together with the place it stands at; it may have none, but not nothing.
  if (R_Srcref == nullptr) R_Srcref = R_NilValue;
  const Kept value(Rf_eval(*static_cast<SEXP*>(code), R_GlobalEnv));
  if (R_Visible != FALSE) Rf_PrintValue(value);
}

// run(): steps until engine$next_step() has none left or one failed, then engine$ended(was it well?).
SEXP run() {
  bool well = true;
  while (well) {
    const Kept code(next_step());
    if (code == R_NilValue) break;
    SEXP step = VECTOR_ELT(code, 0);
    well = R_ToplevelExec(evaluate_one, &step) != FALSE;
  }
  return call_engine("ended", Rf_ScalarLogical(well ? TRUE : FALSE));
}

SEXP set_temporary_folder(SEXP path) {
  R_TempDir = strdup(CHAR(STRING_ELT(path, 0)));
  return R_NilValue;
}

void add(const std::vector<Routine>& routines) {
  for (const auto& one : routines) {
    const SEXP pointer = R_MakeExternalPtrFn(one.function, Rf_install("native symbol"), R_NilValue);
    R_PreserveObject(pointer);
    pointers()[one.name] = pointer;
  }
}

}  // namespace

void begin_job(SEXP expressions, const std::string& out, std::int64_t every_ms, int from) {
  const Kept folder(Rf_mkString(out.c_str()));
  const Kept every(Rf_ScalarReal(every_ms > 0 ? static_cast<double>(every_ms) : NA_REAL));
  const Kept descriptor(Rf_ScalarInteger(from));
  const Kept call(
      Rf_lang5(Rf_findVarInFrame(engine, Rf_install("begin_job")), expressions, folder, every, descriptor));
  Rf_eval(call, engine);
}

SEXP next_step() {
  return call_engine("next_step", nullptr);
}

const char* bind_step(SEXP code) {
  static constexpr const char* kName = ".cp.step";
  if (R_Srcref == nullptr) R_Srcref = R_NilValue;
  const Kept name(Rf_mkString(kName));
  // On the search path, where nobody looks, and nothing of it is saved.
  const SEXP aside = Rf_findVarInFrame(R_BaseEnv, Rf_install(".AutoloadEnv"));
  const Kept quoted(Rf_lang2(Rf_install("quote"), code));
  const Kept assign(Rf_lang5(Rf_install("delayedAssign"), name, quoted, R_GlobalEnv, aside));
  const Kept call(Rf_lang2(Rf_install(".Internal"), assign));
  Rf_eval(call, R_BaseEnv);
  return kName;
}

SEXP pointer_called(const std::string& name) {
  const auto found = pointers().find(name);
  return found == pointers().end() ? R_NilValue : found->second;
}

SEXP environment_called(const std::string& name) {
  const auto found = named_environments().find(name);
  return found == named_environments().end() ? R_NilValue : found->second;
}

const char* name_of_pointer(SEXP pointer) {
  for (const auto& [name, known] : pointers()) {
    if (known == pointer) return name.c_str();
  }
  return nullptr;
}

SEXP refhook_out(SEXP object) {
  if (object == engine) return Rf_mkString("remotist:engine");
  if (const auto named = names_of_environments().find(object); named != names_of_environments().end())
    return Rf_mkString(named->second.c_str());
  if (TYPEOF(object) == EXTPTRSXP) {
    if (const char* const name = name_of_pointer(object); name != nullptr) return Rf_mkString(name);
  }
  return R_NilValue;
}

SEXP natives() {
  if (pointers().empty()) {
    for (const auto& some :
         {loop_routines(), frame_routines(), code_routines(), graph_routines(), write_routines(),
          read_routines(), run_routines(), rebind_routines(), compiler_routines(), calls_routines(),
          family_routines(), finalizer_routines()}) {
      add(some);
    }
  }
  const Kept list(Rf_allocVector(VECSXP, static_cast<R_xlen_t>(pointers().size())));
  const Kept names(Rf_allocVector(STRSXP, static_cast<R_xlen_t>(pointers().size())));
  R_xlen_t i = 0;
  for (const auto& [name, pointer] : pointers()) {
    SET_STRING_ELT(names, i, Rf_mkChar(name.c_str()));
    SET_VECTOR_ELT(list, i++, pointer);
  }
  Rf_setAttrib(list, R_NamesSymbol, names);
  return list;
}

std::vector<Routine> run_routines() {
  return {routine("safe_point", safe_point), routine("set_engine", set_engine), routine("run", run),
          routine("set_temporary_folder", set_temporary_folder),
          routine("name_environments", name_environments)};
}

}  // namespace remotist::volunteer::checkpoint

extern "C" SEXP checkpoint_natives() {
  return remotist::volunteer::checkpoint::natives();
}
