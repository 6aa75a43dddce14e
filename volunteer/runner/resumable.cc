#include "volunteer/runner/resumable.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>

#include "checkpoint_engine_r.h"
#include "checkpoint_load_r.h"
#include "volunteer/runner/checkpoint/native.h"
#include "volunteer/runner/console.h"
#include "volunteer/runner/side_thread.h"
#include "volunteer/sandbox/order.h"
#include "volunteer/sandbox/word.h"

namespace remotist::volunteer {

namespace {

constexpr std::size_t kStackBytes = 64 << 10;

bool runs = false;

SEXP parsed(std::string_view text) {
  const Kept source(Rf_allocVector(STRSXP, 1));
  SET_STRING_ELT(source, 0, Rf_mkCharLenCE(text.data(), static_cast<int>(text.size()), CE_UTF8));
  ParseStatus status = PARSE_NULL;
  const SEXP expressions = R_ParseVector(source, -1, &status, R_NilValue);
  return status == PARSE_OK ? expressions : nullptr;
}

// Hears the host, which may want a checkpoint, and the child that has written one.
struct Ears {
  int host;
  int child;
};

void* listen(void* what) {
  const Ears ears = *static_cast<Ears*>(what);
  std::array<pollfd, 2> both{pollfd{ears.host, POLLIN, 0}, pollfd{ears.child, POLLIN, 0}};
  std::uint64_t number = 0;
  while (::poll(both.data(), both.size(), -1) >= 0 || errno == EINTR) {
    std::array<char, 64> bytes{};
    if (both[0].revents != 0) {
      const ssize_t got = ::read(ears.host, bytes.data(), bytes.size());
      if (got <= 0) both[0].fd = -1;
      if (std::string_view(bytes.data(), got < 0 ? 0 : static_cast<std::size_t>(got))
              .contains(kTakeCheckpoint))
        checkpoint::raise_flag(true);
    }
    if (both[1].revents != 0 && ::read(ears.child, bytes.data(), 1) == 1) {
      say(ears.host, Checkpointed{++number});
    }
  }
  return nullptr;
}

// As long as the process lives. Without it nothing can be asked for; the script runs all the same.
void start_listening(int host, int child) {
  static Ears ears{};
  ears = {host, child};
  start_side_thread(kStackBytes, listen, &ears);
}

}  // namespace

void prepare_engine() {
  const Kept here(R_NewEnv(R_BaseEnv, FALSE, 0));
  const Kept definitions(parsed(kCheckpointLoadR));
  for (R_xlen_t i = 0; i < Rf_xlength(definitions); ++i) Rf_eval(VECTOR_ELT(definitions, i), here);
  const Kept expressions(parsed(kCheckpointEngineR));
  const Kept natives(checkpoint::natives());
  const Kept call(Rf_lang3(Rf_install("load_engine"), expressions, natives));
  int failed = 0;
  R_tryEval(call, here, &failed);
  if (failed != 0)
    throw std::runtime_error(std::string("the checkpoint engine cannot be loaded: ") + R_curErrorBuf());
}

bool run_resumable(const Job& job) {
  // How R reads the rest would depend on what the script does.
  if (job.checkpoint < 0 && job.script.contains("keep.source")) return false;
  const SEXP expressions = parsed(job.script);
  if (expressions == nullptr && job.checkpoint < 0) return false;
  const Kept kept(expressions == nullptr ? R_NilValue : expressions);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
    checkpoint::tell_when_written(ends[1]);
    start_listening(job.frames, ends[0]);
  }
  runs = true;
  checkpoint::begin_job(kept, job.out_path, job.checkpoint_every_ms, job.checkpoint);
  // R's own reader evaluates each, so that all that it prints is as ever.
  while (true) {
    const Kept code(checkpoint::next_step());
    if (code == R_NilValue) return true;
    set_script(std::string(checkpoint::bind_step(VECTOR_ELT(code, 0))) + "\n");
    R_ReplDLLdo1();
  }
}

SEXP without_engine(SEXP value) {
  if (runs) checkpoint::clean(value);
  return value;
}

}  // namespace remotist::volunteer
