#include "volunteer/runner/engine.h"

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
#include "volunteer/runner/ending.h"
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
std::mutex speech;  // a frame of one thread must not end up within another's

// Evaluates a text of our own; an error in it is a fault of this program.
SEXP evaluate(std::string_view text, SEXP where) {
  const Kept source(Rf_allocVector(STRSXP, 1));
  SET_STRING_ELT(source, 0, Rf_mkCharLenCE(text.data(), static_cast<int>(text.size()), CE_UTF8));
  ParseStatus status = PARSE_NULL;
  const Kept expressions(R_ParseVector(source, -1, &status, R_NilValue));
  if (status != PARSE_OK) throw std::runtime_error("the runtime of jobs is not R");
  SEXP value = R_NilValue;
  for (R_xlen_t i = 0; i < Rf_xlength(expressions); ++i) {
    int failed = 0;
    value = R_tryEval(VECTOR_ELT(expressions, i), where, &failed);
    if (failed != 0) throw std::runtime_error(std::format("the runtime of jobs fails: {}", R_curErrorBuf()));
  }
  return value;
}

// A guest says more than the host wants to hear only if it means to.
SEXP send_progress(SEXP fraction, SEXP message) {
  static Clock::time_point last{};
  const auto now = Clock::now();
  const double value = Rf_asReal(fraction);
  if (frames_to >= 0 && (now - last >= kProgressPause || value >= 1)) {
    last = now;
    say(frames_to, Progressed{value, Rf_translateCharUTF8(STRING_ELT(message, 0))});
  }
  return R_NilValue;
}

std::size_t threads() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) ++count;
  return count;
}

// RInside turns the check off; without it a recursion without end is a segfault.
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
  keep_heap_together();
  start_rinside();
  take_console();
  take_ending();
  check_stack();
  const Kept native(native_symbol(send_progress));
  const Kept here(R_NewEnv(R_BaseEnv, FALSE, 0));
  Rf_defineVar(Rf_install("send_progress"), native, here);
  set_runtime(evaluate(kRuntimeR, here));
  prepare_watch(evaluate(kWatchCompilerR, here));
  prepare_engine();
  evaluate(kWarmUpR, R_GlobalEnv);
  R_ReplDLLinit();
  gather_heap();
  if (threads() != 1) throw std::runtime_error("R has started a thread, so that it cannot be forked");
}

void with_r(const std::function<void()>& serve) {
  const auto call = [](void* what) {
    // Not in a context of its own: the handler must stay.
    const Kept watch(Rf_lang1(runtime_function("watch_errors")));
    Rf_eval(watch, R_BaseEnv);
    (*static_cast<const std::function<void()>*>(what))();
  };
  const bool returned = R_ToplevelExec(call, const_cast<void*>(static_cast<const void*>(&serve))) != FALSE;
  if (job_runs()) end_job_after_error();
  if (!returned) throw std::runtime_error("R jumped out of the zygote");
}

void rehearse() {
  set_script("invisible(1)\n");
  read_and_evaluate();
  const Kept told(call_runtime("told"));
  const Kept result(call_runtime("result"));
  call_runtime("close_devices");
  discard_value(result);
}

void run_job(const Job& job) {
  let_heap_spread();
  frames_to = job.frames;
  set_job(job);
  if (job.limit_heap) call_runtime("limit_memory", Rf_ScalarReal(static_cast<double>(job.heap_mb)));
  set_script(job.script);
  // A child that the script forks must find it free.
  ::pthread_atfork([] { speech.lock(); }, [] { speech.unlock(); }, [] { speech.unlock(); });
  begin_watch({job.watched, job.frames, job.out, job.heap_mb});
  if (!job.resumable || !run_resumable(job)) read_and_evaluate();
  end_job(0, true);
}

void say(int frames, const Word& word) {
  say_frames(frames, frame_bytes(head_of(word)));
}

void say_frames(int frames, std::string_view bytes) {
  const std::scoped_lock lock{speech};
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t sent = ::write(frames, left.data(), left.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return;
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
}

}  // namespace remotist::volunteer
