// What the parts of the checkpoint engine's native side share.
//
// Threads: R's thread, except raise_flag(), which any thread may call once the_flag() and flag_in_code() have
// been called on R's thread.
//
// Ownership: objects of R that outlive a call are preserved (R_PreserveObject) and never released: the flags,
// the routines' pointers, the engine's environment. An SEXP that a function here returns is not protected.
//
// Errors: R's errors jump over C++ destructors. So a function that may raise one owns nothing but R objects.
//
// Invariants between calls:
// - One engine a process; natives() comes first, then set_engine (load.R), then everything else.
// - Both flags hold the same value, and 1 as long as safe points are counted (keep_raised).
// - At most one child writes a checkpoint (write.cc).
// - Package environments have numbers only while a checkpoint is written, which happens in the child, or
// read.
// - No variable of the engine in the script's environments is visible to ls(): their names begin with ".cp.".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <sys/types.h>
#include <vector>

#include "volunteer/runner/r.h"

namespace remotist::volunteer::checkpoint {

constexpr auto kDamaged = "the checkpoint is damaged";

// A routine that the engine's R side calls, by name.
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
std::vector<Routine> apply_routines();
std::vector<Routine> finalizer_routines();
std::vector<Routine> name_routines();
std::vector<Routine> package_routines();
std::vector<Routine> loading_routines();

template <class Function>
Routine routine(const char* name, Function* function) {
  return {name, reinterpret_cast<DL_FUNC>(reinterpret_cast<void*>(function))};
}

// --- safe points (loops.cc)

// What each safe point tests. Expressions have an integer, since the compiler would fold a logical constant;
// their code has a logical, which R tests fastest.
SEXP the_flag();
SEXP flag_in_code();
void raise_flag(bool up);
// At a safe point with the flag up: counts it, and yields whether a checkpoint is wanted at this one.
bool is_wanted_here();
// The number of elements of a loop's next batch, after `done` of `total`: as many as take about a
// millisecond, adapted for each loop, by its number.
R_xlen_t batch_length(int loop, R_xlen_t done, R_xlen_t total);

// --- for the runner (run.cc, write.cc, graph.cc)

// Sets the engine up for a script, whose text and file name are those of the job, or for the checkpoint in
// the descriptor `from`, if that is not -1. "" or why it cannot resume from that.
struct Script {
  SEXP expressions;
  std::string text;
  std::string file;
};
std::string begin_job(const Script& script, const std::string& out, std::int64_t every_ms, int from);
// The code of the next top-level expression in a list, or NULL.
SEXP next_step();
// A name whose evaluation evaluates the code.
const char* bind_step(SEXP code);
// What a host is told of checkpoints. Without one, in plain R, each has all its frames and replaces the last.
struct WriterReport {  // written to Host::written by the child that wrote a checkpoint, or could not
  std::uint64_t number;
  double cpu_ms;
  bool complete;  // the file `checkpoint-NUMBER` is
};
struct Host {
  int written = -1;
  pid_t process = 0;  // of the job
  // R's thread: right before the fork (began_ms: since when R has been held up, by CLOCK_MONOTONIC), when R
  // goes on, and where a checkpoint is refused.
  void (*begun)(std::uint64_t number, double began_ms) = nullptr;
  void (*forked)(double pause_ms) = nullptr;
  void (*refused)(const char* why) = nullptr;
  bool exact_times = false;  // of the file system of the job's folder (saved_files.h)
};
void set_host(const Host& its);
// Any thread: the host keeps all chunks of this checkpoint; the next one must have all its frames.
void confirm_checkpoint(std::uint64_t confirmed);
void forget_checkpoints();
// Removes what the engine put into functions and environments within a value.
SEXP clean(SEXP value);

// --- names (names.cc)

// All routines as a named list of pointers.
SEXP natives();
// Calls a function of the engine's R side.
SEXP call_engine(const char* name, std::initializer_list<SEXP> arguments = {});
// The name of a routine by its pointer, or null. Compiled code contains these pointers as literals, so a
// checkpoint must store their names.
const char* name_of_pointer(SEXP pointer);
// Hooks of R's serializer: the name under which an object is written, or NULL; and the object of a name.
SEXP refhook_out(SEXP object);
SEXP refhook_in(SEXP name, SEXP);

// --- environments of packages (packages.cc), while a checkpoint is written or read

// The number, or 0.
int package_environment_number(SEXP environment);
// Null for a number that is not in use.
SEXP package_environment(int number);
SEXP namespace_called(SEXP name);
SEXP as_list(const std::vector<SEXP>& all);

// --- walks over objects (graph.cc)

// What in a value cannot be saved, or "". The environments in `known` are not entered.
const char* why_unsaveable(SEXP root, SEXP known);
// Environments that R writes by their names.
bool is_known_to_r(SEXP environment);
// All bindings of an environment as they are: promises stay promises. Active bindings are left out.
SEXP bindings(SEXP environment);
SEXP variables_in(SEXP environment);
// These elements of a named list.
SEXP select_elements(SEXP list, const std::vector<R_xlen_t>& at);
// Gives a variable a value, even if it is locked; it stays as locked as it was.
void define(SEXP symbol, SEXP value, SEXP environment);
// Which of a list of environments can be reached from a value, without entering those in `known`.
std::vector<bool> reached_by(SEXP root, SEXP known, SEXP environments);

// --- instrumented code (code.cc)

// The last constant of instrumented code is its marker, a list of these: what rewrite.R keeps about the
// function, or NULL; the indices of the constants that are calls of sites; the numbers of these sites.
enum MarkerField : R_xlen_t { kInfo, kSiteConstants, kSiteNumbers, kMarkerFields };
SEXP marker_of(SEXP code);
SEXP info_in(SEXP code);
bool is_instrumented(SEXP code);
bool is_hidden_name(const char* name);

}  // namespace remotist::volunteer::checkpoint
