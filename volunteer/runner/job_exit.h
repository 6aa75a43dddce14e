// The end of a job's process: after the last line of its script, by quit(), or by an error. Each way saves
// the result or the state at the error, sends one final message and calls _exit.
//
// R's thread.
#pragma once

#include "volunteer/runner/r.h"
#include "volunteer/runner/r_session.h"

namespace remotist::volunteer {

// Sets R's hooks for its own exit. Call once, after R has started.
void install_exit_hooks();
// Sets the environment that runtime.R returns.
void set_runtime(SEXP runtime);

SEXP runtime_function(const char* name);
// Calls a function of the runtime; returns R's NULL when it fails, and R prints the error.
SEXP call_runtime(const char* function);
SEXP call_runtime(const char* function, SEXP argument);

void set_job(const Job& job);
bool job_runs();
// Whether the script has been read up to the end of an expression.
void at_complete_expression(bool yes);

[[noreturn]] void end_job(int status, bool run_last);
[[noreturn]] void end_job_after_error();

}  // namespace remotist::volunteer
