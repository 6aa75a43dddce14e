// Objects that a checkpoint stores by name: the engine, its routines, environments of package methods, and
// environments that other packages keep (packages.cc). A resume puts its own objects in their place.
#include <cstdlib>
#include <cstring>
#include <map>
#include <unordered_map>

#include "volunteer/runner/checkpoint/native.h"

namespace remotist::volunteer::checkpoint {

namespace {

constexpr const char* kEngine = "remotist:engine";
constexpr const char* kPackageEnvironment = "remotist:package:";

SEXP engine = nullptr;  // the environment of the R side

// The pointers of routines in R code, by name.
std::map<std::string, SEXP>& pointers() {
  static std::map<std::string, SEXP> all;
  return all;
}

// Environments of package methods, which live as long as R.
std::map<std::string, SEXP>& environments() {
  static std::map<std::string, SEXP> all;
  return all;
}

std::unordered_map<SEXP, std::string>& names_of_environments() {
  static std::unordered_map<SEXP, std::string> all;
  return all;
}

SEXP set_engine(SEXP env) {
  engine = env;
  R_PreserveObject(env);
  return R_NilValue;
}

// name_environments(named list): they belong to package methods.
SEXP name_environments(SEXP named) {
  const SEXP called = Rf_getAttrib(named, R_NamesSymbol);
  for (R_xlen_t i = 0; i < Rf_xlength(named); ++i) {
    environments()[CHAR(STRING_ELT(called, i))] = VECTOR_ELT(named, i);
    names_of_environments()[VECTOR_ELT(named, i)] = CHAR(STRING_ELT(called, i));
  }
  R_PreserveObject(named);
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
  const Protected call(Rf_allocLang(static_cast<int>(arguments.size()) + 1));
  SETCAR(call, Rf_findVarInFrame(engine, Rf_install(name)));
  SEXP cell = CDR(call);
  for (const SEXP argument : arguments) {
    SETCAR(cell, argument);
    cell = CDR(cell);
  }
  return Rf_eval(call, engine);
}

const char* name_of_pointer(SEXP pointer) {
  for (const auto& [name, known] : pointers()) {
    if (known == pointer) return name.c_str();
  }
  return nullptr;
}

SEXP refhook_out(SEXP object) {
  if (object == engine) return Rf_mkString(kEngine);
  if (TYPEOF(object) == EXTPTRSXP) {
    const char* const name = name_of_pointer(object);
    return name == nullptr ? R_NilValue : Rf_mkString(name);
  }
  if (const auto named = names_of_environments().find(object); named != names_of_environments().end())
    return Rf_mkString(named->second.c_str());
  if (const int number = package_environment_number(object); number != 0)
    return Rf_mkString((kPackageEnvironment + std::to_string(number)).c_str());
  return R_NilValue;
}

// R's errors jump over destructors: no object here has one that matters.
SEXP refhook_in(SEXP name, SEXP) {
  if (TYPEOF(name) != STRSXP || Rf_xlength(name) != 1) Rf_error(kDamaged);
  const char* const text = CHAR(STRING_ELT(name, 0));
  if (std::string_view(text) == kEngine) return engine;
  if (const auto found = environments().find(text); found != environments().end()) return found->second;
  if (const auto found = pointers().find(text); found != pointers().end()) return found->second;
  if (std::string_view(text).starts_with(kPackageEnvironment)) {
    const SEXP found = package_environment(std::atoi(text + std::strlen(kPackageEnvironment)));
    if (found != nullptr) return found;
  }
  Rf_error("the checkpoint names '%s', which this process does not have", text);
}

SEXP natives() {
  if (pointers().empty()) {
    for (const auto& some :
         {loop_routines(), frame_routines(), code_routines(), graph_routines(), write_routines(),
          read_routines(), run_routines(), rebind_routines(), compiler_routines(), calls_routines(),
          apply_routines(), finalizer_routines(), name_routines(), package_routines(), loading_routines()}) {
      add(some);
    }
  }
  const Protected list(Rf_allocVector(VECSXP, static_cast<R_xlen_t>(pointers().size())));
  const Protected called(Rf_allocVector(STRSXP, static_cast<R_xlen_t>(pointers().size())));
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
          routine("name_of", refhook_out)};
}

}  // namespace remotist::volunteer::checkpoint

extern "C" SEXP checkpoint_natives() {
  return remotist::volunteer::checkpoint::natives();
}
