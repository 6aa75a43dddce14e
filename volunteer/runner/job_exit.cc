#include "volunteer/runner/job_exit.h"

#include <cstdio>
#include <cstring>
#include <format>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include "volunteer/runner/resumable.h"
#include "volunteer/runner/stream.h"
#include "volunteer/runner/watch/watch.h"
#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer {

namespace {

SEXP runtime = nullptr;
Job the_job{
    .frames = -1, .out = -1, .script = {}, .heap_mb = 0, .limit_heap = false, .watched_variables = {}};
pid_t job_process = 0;  // children that the script forks run this code, too, and must not end the job
bool ending = false;
bool in_dot_last = false;
bool between_expressions = true;

std::string text_of(SEXP strings, R_xlen_t at) {
  return at < Rf_xlength(strings) ? std::string(Rf_translateCharUTF8(STRING_ELT(strings, at)))
                                  : std::string{};
}

// R's text of the last error, "Error in f() : message": for errors that bypass calling handlers.
std::string last_error() {
  std::string text = R_curErrorBuf();
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.empty() ? "an error without a message" : text;
}

void flush_and_exit(int status) {
  std::fflush(nullptr);
  ::_exit(status);
}

Failed failure() {
  const Protected report(call_runtime("error_report"));
  if (TYPEOF(report) != STRSXP) return {last_error()};
  Failed failed{text_of(report, 0), text_of(report, 1)};
  for (R_xlen_t i = 2; i < Rf_xlength(report); ++i) failed.traceback.push_back(text_of(report, i));
  return failed;
}

[[noreturn]] void fail_job(const Failed& failed) {
  end_watch();
  call_runtime("close_devices");
  const Protected state(call_runtime("error_state"));
  if (state != R_NilValue) save_value(remove_engine_code(state), the_job.out, kErrorFile);
  send_message(the_job.frames, failed);
  flush_and_exit(1);
  ::_exit(1);
}

[[noreturn]] void complete_job() {
  end_watch();
  call_runtime("close_devices");
  const Protected result(call_runtime("result"));
  if (result == R_NilValue) fail_job({"The result cannot be collected: " + last_error()});
  remove_engine_code(result);
  if (const auto problem = save_value(result, the_job.out, kResultFile); !problem.empty()) {
    fail_job({"The result cannot be saved: " + problem});
  }
  std::fflush(nullptr);
  send_message(the_job.frames, Completed{});
  ::_exit(0);
}

void clean_up(SA_TYPE, int status, int run_last) {
  if (job_process != 0 && ::getpid() == job_process && std::exchange(in_dot_last, false)) complete_job();
  if (job_process == 0 || ::getpid() != job_process || ending) {
    std::fflush(nullptr);
    ::_exit(status);
  }
  end_job(status, run_last != 0);
}

void suicide(const char* reason) {
  const std::string text = std::format("Fatal error: {}\n", reason);
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
  if (job_process != 0 && ::getpid() == job_process && !ending) {
    ending = true;
    send_message(the_job.frames, Failed{text});
  }
  ::_exit(1);
}

SEXP evaluate_call(SEXP call) {
  int failed = 0;
  const SEXP value = R_tryEval(call, R_BaseEnv, &failed);
  return failed != 0 ? R_NilValue : value;
}

}  // namespace

void install_exit_hooks() {
  ptr_R_CleanUp = clean_up;
  ptr_R_Suicide = suicide;
}

void set_runtime(SEXP environment) {
  R_PreserveObject(environment);
  runtime = environment;
}

SEXP runtime_function(const char* name) {
  return Rf_findVarInFrame(runtime, Rf_install(name));
}

SEXP call_runtime(const char* function) {
  const Protected call(Rf_lang1(runtime_function(function)));
  return evaluate_call(call);
}

SEXP call_runtime(const char* function, SEXP argument) {
  const Protected value(argument);
  const Protected call(Rf_lang2(runtime_function(function), value));
  return evaluate_call(call);
}

void set_job(const Job& job) {
  the_job = job;
  job_process = ::getpid();
}

bool job_runs() {
  return job_process != 0;
}

void at_complete_expression(bool yes) {
  between_expressions = yes;
}

void end_job_after_error() {
  // A child that the script forked may jump here; it must not end the job.
  if (::getpid() != job_process || ending) flush_and_exit(1);
  ending = true;
  static constexpr char kHalted[] = "Execution halted\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kHalted, sizeof kHalted - 1);
  fail_job(failure());
}

void end_job(int status, bool run_last) {
  ending = true;
  const Protected report(call_runtime("error_report"));
  if (report != R_NilValue) fail_job(failure());
  if (status != 0) fail_job({std::format("The script quit with status {}.", status)});
  if (!between_expressions) fail_job({"The script ends within an expression: unexpected end of input."});
  in_dot_last = true;  // .Last may itself call quit()
  if (run_last) call_runtime("run_dot_last");
  in_dot_last = false;
  complete_job();
}

}  // namespace remotist::volunteer
