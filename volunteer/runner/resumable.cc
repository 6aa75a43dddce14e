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
#include "volunteer/sandbox/guest_message.h"
#include "volunteer/sandbox/launch.h"

namespace remotist::volunteer {

namespace {

constexpr std::size_t kChannelStackBytes = 64 << 10;

bool engine_used = false;

SEXP parsed(std::string_view text) {
  const Protected source(Rf_allocVector(STRSXP, 1));
  SET_STRING_ELT(source, 0, Rf_mkCharLenCE(text.data(), static_cast<int>(text.size()), CE_UTF8));
  ParseStatus status = PARSE_NULL;
  const SEXP expressions = R_ParseVector(source, -1, &status, R_NilValue);
  return status == PARSE_OK ? expressions : nullptr;
}

// The host requests checkpoints; the child process that has written one reports it.
struct CheckpointChannels {
  int host;
  int child;
};

void* serve_channels(void* what) {
  const auto channels = *static_cast<CheckpointChannels*>(what);
  std::array<pollfd, 2> both{pollfd{channels.host, POLLIN, 0}, pollfd{channels.child, POLLIN, 0}};
  std::uint64_t number = 0;
  while (::poll(both.data(), both.size(), -1) >= 0 || errno == EINTR) {
    std::array<char, 64> bytes{};
    if (both[0].revents != 0) {
      const ssize_t got = ::read(channels.host, bytes.data(), bytes.size());
      if (got <= 0) both[0].fd = -1;
      if (std::string_view(bytes.data(), got < 0 ? 0 : static_cast<std::size_t>(got))
              .contains(kTakeCheckpoint))
        checkpoint::raise_flag(true);
    }
    if (both[1].revents != 0 && ::read(channels.child, bytes.data(), 1) == 1) {
      send_message(channels.host, Checkpointed{++number});
    }
  }
  return nullptr;
}

// Starts a thread for the life of the process. If it cannot be started, the script runs without checkpoint
// requests.
void start_channel_thread(int host, int child) {
  static CheckpointChannels channels{};
  channels = {host, child};
  start_side_thread(kChannelStackBytes, serve_channels, &channels);
}

}  // namespace

void load_checkpoint_engine() {
  const Protected here(R_NewEnv(R_BaseEnv, FALSE, 0));
  const Protected definitions(parsed(kCheckpointLoadR));
  for (R_xlen_t i = 0; i < Rf_xlength(definitions); ++i) Rf_eval(VECTOR_ELT(definitions, i), here);
  const Protected expressions(parsed(kCheckpointEngineR));
  const Protected natives(checkpoint::natives());
  const Protected call(Rf_lang3(Rf_install("load_engine"), expressions, natives));
  int failed = 0;
  R_tryEval(call, here, &failed);
  if (failed != 0)
    throw std::runtime_error(std::string("the checkpoint engine cannot be loaded: ") + R_curErrorBuf());
}

bool run_resumable(const Job& job) {
  // options(keep.source) changes how R parses the rest of the script.
  if (job.checkpoint < 0 && job.script.contains("keep.source")) return false;
  const SEXP expressions = parsed(job.script);
  if (expressions == nullptr && job.checkpoint < 0) return false;
  const Protected script(expressions == nullptr ? R_NilValue : expressions);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
    checkpoint::notify_when_written(ends[1]);
    start_channel_thread(job.frames, ends[0]);
  }
  engine_used = true;
  checkpoint::begin_job(script, job.out_path, job.checkpoint_every_ms, job.checkpoint);
  // R's own reader evaluates each expression, so that the printed output is the same as without the engine.
  while (true) {
    const Protected code(checkpoint::next_step());
    if (code == R_NilValue) return true;
    set_script(std::string(checkpoint::bind_step(VECTOR_ELT(code, 0))) + "\n");
    R_ReplDLLdo1();
  }
}

SEXP remove_engine_code(SEXP value) {
  if (engine_used) checkpoint::clean(value);
  return value;
}

}  // namespace remotist::volunteer
