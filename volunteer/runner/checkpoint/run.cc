// Runs a script's expressions at the top level, with no frame of the engine below them.
#include <cstring>

#include "volunteer/runner/checkpoint/native.h"

extern "C" {
extern Rboolean R_Visible;
extern char* R_TempDir;
extern SEXP R_Srcref;
}

namespace remotist::volunteer::checkpoint {

namespace {

// Compiled code calls this at a safe point when the flag is up.
SEXP safe_point(SEXP number) {
  if (!is_wanted_here()) return R_NilValue;
  // A checkpoint must not change what the script prints.
  const Rboolean visible = R_Visible;
  call_engine("at_safe_point", {number});
  R_Visible = visible;
  return R_NilValue;
}

void evaluate_one(void* code) {
  R_Visible = TRUE;
  // The compiler reads R_Srcref, which must not be a null pointer.
  if (R_Srcref == nullptr) R_Srcref = R_NilValue;
  const Protected value(Rf_eval(*static_cast<SEXP*>(code), R_GlobalEnv));
  if (R_Visible != FALSE) Rf_PrintValue(value);
}

// run(): evaluates the steps of engine$next_step() until there is none or one fails, then calls
// engine$ended(ok).
SEXP run() {
  bool well = true;
  while (well) {
    const Protected code(next_step());
    if (code == R_NilValue) break;
    SEXP step = VECTOR_ELT(code, 0);
    well = R_ToplevelExec(evaluate_one, &step) != FALSE;
  }
  return call_engine("ended", {Rf_ScalarLogical(well ? TRUE : FALSE)});
}

SEXP set_temporary_folder(SEXP path) {
  R_TempDir = strdup(CHAR(STRING_ELT(path, 0)));
  return R_NilValue;
}

}  // namespace

std::string begin_job(const Script& script, const std::string& out, std::int64_t every_ms, int from) {
  const Protected about(Rf_allocVector(STRSXP, 2));
  SET_STRING_ELT(about, 0, Rf_mkCharLenCE(script.text.data(), static_cast<int>(script.text.size()), CE_UTF8));
  SET_STRING_ELT(about, 1, Rf_mkCharCE(script.file.c_str(), CE_UTF8));
  const Protected folder(Rf_mkString(out.c_str()));
  const Protected every(Rf_ScalarReal(every_ms > 0 ? static_cast<double>(every_ms) : NA_REAL));
  const Protected descriptor(Rf_ScalarInteger(from));
  const Protected why(call_engine("begin_job", {script.expressions, about, folder, every, descriptor}));
  return CHAR(STRING_ELT(why, 0));
}

SEXP next_step() {
  return call_engine("next_step");
}

const char* bind_step(SEXP code) {
  static constexpr const char* kName = ".cp.step";
  if (R_Srcref == nullptr) R_Srcref = R_NilValue;
  const Protected name(Rf_mkString(kName));
  // On the search path, in an environment that is neither listed by scripts nor saved.
  const SEXP aside = Rf_findVarInFrame(R_BaseEnv, Rf_install(".AutoloadEnv"));
  const Protected quoted(Rf_lang2(Rf_install("quote"), code));
  const Protected assign(Rf_lang5(Rf_install("delayedAssign"), name, quoted, R_GlobalEnv, aside));
  const Protected call(Rf_lang2(Rf_install(".Internal"), assign));
  Rf_eval(call, R_BaseEnv);
  return kName;
}

std::vector<Routine> run_routines() {
  return {routine("safe_point", safe_point), routine("run", run),
          routine("set_temporary_folder", set_temporary_folder)};
}

}  // namespace remotist::volunteer::checkpoint
