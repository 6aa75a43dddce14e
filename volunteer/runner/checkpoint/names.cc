// What a checkpoint names and does not save: the engine, its routines, and environments that belong to
// packages. Whoever reads it puts its own in their place.
#include <map>
#include <unordered_map>

#include "volunteer/runner/checkpoint/native.h"

namespace remotist::volunteer::checkpoint {

namespace {

SEXP engine = nullptr;  // the environment of the R side

// Routines by the pointers under which R code knows them.
std::map<std::string, SEXP>& pointers() {
  static std::map<std::string, SEXP> all;
  return all;
}

// Environments that stay as long as R does.
std::map<std::string, SEXP>& lasting() {
  static std::map<std::string, SEXP> all;
  return all;
}

// Those, and what packages have now.
std::unordered_map<SEXP, std::string>& names() {
  static std::unordered_map<SEXP, std::string> all;
  return all;
}

SEXP set_engine(SEXP env) {
  engine = env;
  R_PreserveObject(env);
  return R_NilValue;
}

// name_environments(named list): they belong to package methods.
SEXP name_environments(SEXP environments) {
  const SEXP called = Rf_getAttrib(environments, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(environments); ++i) {
    lasting()[CHAR(STRING_ELT(called, i))] = VECTOR_ELT(environments, i);
    names()[VECTOR_ELT(environments, i)] = CHAR(STRING_ELT(called, i));
  }
  R_PreserveObject(environments);
  return R_NilValue;
}

// name_package_environments(named list), instead of those named before: as long as R code keeps the list.
SEXP name_package_environments(SEXP environments) {
  names().clear();
  for (const auto& [name, environment] : lasting()) names()[environment] = name;
  const SEXP called = Rf_getAttrib(environments, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(environments); ++i)
    names().try_emplace(VECTOR_ELT(environments, i), CHAR(STRING_ELT(called, i)));
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

SEXP call_engine(const char* name, std::initializer_list<SEXP> arguments) {
  const Kept call(Rf_allocLang(static_cast<int>(arguments.size()) + 1));
  SETCAR(call, Rf_findVarInFrame(engine, Rf_install(name)));
  SEXP cell = CDR(call);
  for (const SEXP argument : arguments) {
    SETCAR(cell, argument);
    cell = CDR(cell);
  }
  return Rf_eval(call, engine);
}

bool has_name(SEXP environment) {
  return environment == engine || names().contains(environment);
}

const char* name_of_pointer(SEXP pointer) {
  for (const auto& [name, known] : pointers()) {
    if (known == pointer) return name.c_str();
  }
  return nullptr;
}

SEXP refhook_out(SEXP object) {
  if (object == engine) return Rf_mkString("remotist:engine");
  if (const auto named = names().find(object); named != names().end())
    return Rf_mkString(named->second.c_str());
  if (TYPEOF(object) == EXTPTRSXP) {
    if (const char* const name = name_of_pointer(object); name != nullptr) return Rf_mkString(name);
  }
  return R_NilValue;
}

// R's errors jump over destructors: nothing here has one that matters.
SEXP refhook_in(SEXP name, SEXP) {
  const char* const text = CHAR(STRING_ELT(name, 0));
  if (std::string_view(text) == "remotist:engine") return engine;
  if (const auto found = lasting().find(text); found != lasting().end()) return found->second;
  if (const auto found = pointers().find(text); found != pointers().end()) return found->second;
  const SEXP environment = call_engine("package_environment", {name});
  if (TYPEOF(environment) == ENVSXP) return environment;
  Rf_error("the checkpoint names '%s', which is not here", text);
}

SEXP natives() {
  if (pointers().empty()) {
    for (const auto& some :
         {loop_routines(), frame_routines(), code_routines(), graph_routines(), write_routines(),
          read_routines(), run_routines(), rebind_routines(), compiler_routines(), calls_routines(),
          family_routines(), finalizer_routines(), name_routines()}) {
      add(some);
    }
  }
  const Kept list(Rf_allocVector(VECSXP, static_cast<R_xlen_t>(pointers().size())));
  const Kept called(Rf_allocVector(STRSXP, static_cast<R_xlen_t>(pointers().size())));
  R_xlen_t i = 0;
  for (const auto& [name, pointer] : pointers()) {
    SET_STRING_ELT(called, i, Rf_mkChar(name.c_str()));
    SET_VECTOR_ELT(list, i++, pointer);
  }
  Rf_setAttrib(list, R_NamesSymbol, called);
  return list;
}

std::vector<Routine> name_routines() {
  return {routine("set_engine", set_engine), routine("name_environments", name_environments),
          routine("name_package_environments", name_package_environments), routine("name_of", refhook_out)};
}

}  // namespace remotist::volunteer::checkpoint

extern "C" SEXP checkpoint_natives() {
  return remotist::volunteer::checkpoint::natives();
}
