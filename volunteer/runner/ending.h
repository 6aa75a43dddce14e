// How a job's process ends: by the last line of its script, by quit(), or by an error. Each way leads through
// here, says one terminal word and leaves with _exit.
#pragma once

#include "volunteer/runner/engine.h"
#include "volunteer/runner/r.h"

namespace remotist::volunteer {

// Sets R's hook for its own end. Call once, after R has started.
void take_ending();
// The environment that runtime.R yields.
void set_runtime(SEXP runtime);

SEXP runtime_function(const char* name);
// Calls a function of the runtime; R's NULL when it fails. A failure is printed as R prints errors.
SEXP call_runtime(const char* function);
SEXP call_runtime(const char* function, SEXP argument);

void set_job(const Job& job);
bool job_runs();
// Whether the script's reader stands between two expressions.
void at_complete_expression(bool yes);

[[noreturn]] void end_job(int status, bool run_last);
[[noreturn]] void end_job_after_error();

}  // namespace remotist::volunteer
