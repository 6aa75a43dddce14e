// What the parts of the checkpoint engine's native side share. All of it runs on R's thread, but the clock.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "volunteer/runner/r.h"

namespace remotist::volunteer::checkpoint {

constexpr auto kDamaged = "the checkpoint is damaged";

// One routine that the engine's R side calls, by name.
struct Routine {
  const char* name;
  DL_FUNC function;
};

std::vector<Routine> loop_routines();
std::vector<Routine> frame_routines();
std::vector<Routine> code_routines();
std::vector<Routine> graph_routines();
std::vector<Routine> write_routines();
std::vector<Routine> read_routines();
std::vector<Routine> run_routines();
std::vector<Routine> rebind_routines();
std::vector<Routine> compiler_routines();
std::vector<Routine> calls_routines();
std::vector<Routine> family_routines();
std::vector<Routine> finalizer_routines();
std::vector<Routine> name_routines();
std::vector<Routine> package_routines();
std::vector<Routine> loading_routines();

template <class Function>
Routine routine(const char* name, Function* function) {
  return {name, reinterpret_cast<DL_FUNC>(reinterpret_cast<void*>(function))};
}

// What is tested at each safe point; another thread may raise it. Expressions have an integer, since the
// compiler would decide by a logical once and for all; their code has a logical, which R tests fastest.
SEXP the_flag();
SEXP flag_in_code();
void raise_flag(bool up);
// At a safe point with the flag up: counts it, and tells whether a checkpoint is wanted at this one.
bool is_wanted_here();

// For the runner: sets the engine up for a script (or the checkpoint in a descriptor, if that is not -1); the
// code of its next expression in a list, or NULL; a name that is evaluated as that code is; and a descriptor
// that a byte is written to when a checkpoint is complete.
void begin_job(SEXP expressions, const std::string& out, std::int64_t every_ms, int from);
SEXP next_step();
const char* bind_step(SEXP code);
void tell_when_written(int descriptor);
// Takes out of functions within a value what the engine put there.
SEXP clean(SEXP value);

// How many of `total` elements a loop goes over next, behind `done` ones: as many as take about a
// millisecond. That is learned for each loop, by its number.
R_xlen_t strip_length(int loop, R_xlen_t done, R_xlen_t total);

// Calls a function of the engine's R side.
SEXP call_engine(const char* name, std::initializer_list<SEXP> arguments = {});
// The name of a routine by the pointer under which R code knows it, or null. Such pointers are literals in
// compiled code, so that a checkpoint must name them.
const char* name_of_pointer(SEXP pointer);
// What R asks, for each object that it writes, for a name; and what it asks for the object of a name.
SEXP refhook_out(SEXP object);
SEXP refhook_in(SEXP name, SEXP);
// All routines as a named list of pointers.
SEXP natives();

// Of environments that packages keep, while a checkpoint is written or read: the number, or 0; and back, or
// null.
int number_of_kept(SEXP environment);
SEXP kept_with_number(int number);
// What in a value cannot be saved, or "". `known` are environments that are not entered.
const char* why_unsaveable(SEXP root, SEXP known);

// Environments that R writes by their names.
bool is_known_to_r(SEXP environment);
// All bindings of an environment as they are: promises stay promises. Active ones are left out.
SEXP bindings(SEXP environment);
SEXP variables_in(SEXP environment);
// Those elements of a named list.
SEXP chosen(SEXP list, const std::vector<R_xlen_t>& at);
// Gives a variable a value, locked or not; it stays as locked as it was.
void define(SEXP symbol, SEXP value, SEXP environment);
SEXP namespace_called(SEXP name);
SEXP as_list(const std::vector<SEXP>& all);

// A constant at the end of the constants of instrumented code: list(info or NULL, indices, numbers).
bool is_instrumented(SEXP code);
SEXP marker_of(SEXP code);
bool is_hidden_name(const char* name);

SEXP element(SEXP list, const char* name);
// Which of a list of environments can be reached from a value, without going through those in `known`.
std::vector<bool> reached_by(SEXP root, SEXP known, SEXP environments);

}  // namespace remotist::volunteer::checkpoint
