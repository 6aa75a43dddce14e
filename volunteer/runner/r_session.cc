#include "volunteer/runner/r_session.h"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <format>
#include <mutex>
#include <pthread.h>
#include <stdexcept>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime_r.h"
#include "volunteer/runner/console.h"
#include "volunteer/runner/job_exit.h"
#include "volunteer/runner/memory.h"
#include "volunteer/runner/native_symbol.h"
#include "volunteer/runner/r.h"
#include "volunteer/runner/resumable.h"
#include "volunteer/runner/rinside.h"
#include "volunteer/runner/stream.h"
#include "volunteer/runner/watch/watch.h"
#include "volunteer/sandbox/frames.h"
#include "warm_up_r.h"
#include "watch_compiler_r.h"

namespace remotist::volunteer {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kProgressPause = std::chrono::milliseconds(50);

int frames_to = -1;
std::mutex send_mutex;  // frames of two threads must not interleave

// Evaluates R code of this program, in which an error is a bug.
SEXP evaluate(std::string_view text, SEXP where) {
  const Protected source(Rf_allocVector(STRSXP, 1));
  SET_STRING_ELT(source, 0, Rf_mkCharLenCE(text.data(), static_cast<int>(text.size()), CE_UTF8));
  ParseStatus status = PARSE_NULL;
  const Protected expressions(R_ParseVector(source, -1, &status, R_NilValue));
  if (status != PARSE_OK) throw std::runtime_error("the runtime of jobs cannot be parsed");
  SEXP value = R_NilValue;
  for (R_xlen_t i = 0; i < Rf_xlength(expressions); ++i) {
    int failed = 0;
    value = R_tryEval(VECTOR_ELT(expressions, i), where, &failed);
    if (failed != 0) throw std::runtime_error(std::format("the runtime of jobs fails: {}", R_curErrorBuf()));
  }
  return value;
}

// Limits the rate, so that a script that reports often does not exceed the host's budget of frames.
SEXP send_progress(SEXP fraction, SEXP message) {
  static Clock::time_point last{};
  const auto now = Clock::now();
  const double value = Rf_asReal(fraction);
  if (frames_to >= 0 && (now - last >= kProgressPause || value >= 1)) {
    last = now;
    send_message(frames_to, Progressed{value, Rf_translateCharUTF8(STRING_ELT(message, 0))});
  }
  return R_NilValue;
}

std::size_t threads() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

// RInside disables the check; without it an endless recursion is a segfault.
void check_stack() {
  rlimit limit{};
  ::getrlimit(RLIMIT_STACK, &limit);
  const rlim_t bytes = limit.rlim_cur == RLIM_INFINITY ? rlim_t{16} << 20 : limit.rlim_cur;
  R_CStackLimit = static_cast<std::uintptr_t>(static_cast<double>(bytes) * 0.95);
}

void read_and_evaluate() {
  for (int state = R_ReplDLLdo1(); state >= 0; state = R_ReplDLLdo1()) at_complete_expression(state == 1);
}

}  // namespace

void start_r() {
  R_SignalHandlers = 0;
  allocate_contiguously();
  start_rinside();
  install_console_hooks();
  install_exit_hooks();
  check_stack();
  const Protected native(native_symbol(send_progress));
  const Protected here(R_NewEnv(R_BaseEnv, FALSE, 0));
  Rf_defineVar(Rf_install("send_progress"), native, here);
  set_runtime(evaluate(kRuntimeR, here));
  prepare_watch(evaluate(kWatchCompilerR, here));
  load_checkpoint_engine();
  evaluate(kWarmUpR, R_GlobalEnv);
  R_ReplDLLinit();
  collapse_heap();
  if (threads() != 1) throw std::runtime_error("R has started a thread, so that it cannot be forked");
}

void with_r(const std::function<void()>& serve) {
  const auto call = [](void* what) {
    // Not by call_runtime(), whose context would remove the handler on return.
    const Protected install(Rf_lang1(runtime_function("install_error_handler")));
    Rf_eval(install, R_BaseEnv);
    (*static_cast<const std::function<void()>*>(what))();
  };
  const bool returned = R_ToplevelExec(call, const_cast<void*>(static_cast<const void*>(&serve))) != FALSE;
  if (job_runs()) end_job_after_error();
  if (!returned) throw std::runtime_error("R jumped out of the zygote");
}

void touch_r_pages() {
  set_script("invisible(1)\n");
  read_and_evaluate();
  const Protected report(call_runtime("error_report"));
  const Protected result(call_runtime("result"));
  call_runtime("close_devices");
  discard_value(result);
}

void run_job(const Job& job) {
  allocate_normally();
  frames_to = job.frames;
  set_job(job);
  if (job.limit_heap) call_runtime("limit_memory", Rf_ScalarReal(static_cast<double>(job.heap_mb)));
  set_script(job.script);
  // A child that the script forks must not inherit a locked mutex.
  ::pthread_atfork([] { send_mutex.lock(); }, [] { send_mutex.unlock(); }, [] { send_mutex.unlock(); });
  begin_watch({job.watched_variables, job.frames, job.out, job.heap_mb, job.checkpoint >= 0, job.watched});
  if (!job.resumable || !run_resumable(job)) read_and_evaluate();
  end_job(0, true);
}

void send_message(int frames, const GuestMessage& message) {
  send_frames(frames, frame_bytes(encode(message)));
}

void send_frames(int frames, std::string_view bytes) {
  const std::scoped_lock lock{send_mutex};
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t sent = ::write(frames, left.data(), left.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
}

}  // namespace remotist::volunteer
