#include "volunteer/runner/resumable.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
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
#include "volunteer/runner/watch/watch.h"
#include "volunteer/runner/write_all.h"
#include "volunteer/sandbox/guest_message.h"
#include "volunteer/sandbox/launch.h"
#include "volunteer/sandbox/output_marker.h"

namespace remotist::volunteer {

namespace {

constexpr std::size_t kChannelStackBytes = 64 << 10;
constexpr auto kRefusalInterval = std::chrono::seconds(1);

bool engine_used = false;

SEXP parsed(std::string_view text) {
  const Protected source(Rf_allocVector(STRSXP, 1));
  SET_STRING_ELT(source, 0, Rf_mkCharLenCE(text.data(), static_cast<int>(text.size()), CE_UTF8));
  ParseStatus status = PARSE_NULL;
  const SEXP expressions = R_ParseVector(source, -1, &status, R_NilValue);
  return status == PARSE_OK ? expressions : nullptr;
}

// Between this process and its host. R's thread, and where noted the channel thread.
struct HostChannel {
  int frames = -1;
  int output = -1;  // the pipe of stdout and stderr, wherever the script redirects these
  int written = -1;
  std::string marker;
  // Of the newest checkpoint; the channel thread reads it.
  std::atomic<double> began_ms{0};
  std::atomic<double> pause_ms{-1};  // -1: R is still held up
  std::chrono::steady_clock::time_point last_refusal{};
};

HostChannel& channel() {
  static HostChannel one;
  return one;
}

// Everything before the checkpoint leaves the process before it is forked: what it printed, then a marker;
// and the host learns which records are older.
void announce_checkpoint(std::uint64_t number, double began_ms) {
  channel().began_ms = began_ms;
  channel().pause_ms = -1;
  std::fflush(nullptr);
  send_message(channel().frames, CheckpointBegun{number});
  write_all(channel().output, output_marker(channel().marker, number));
  mark_watched(number);
}

void keep_pause(double pause_ms) {
  channel().pause_ms = pause_ms;
}

void report_refusal(const char* why) {
  const auto now = std::chrono::steady_clock::now();
  if (now - channel().last_refusal < kRefusalInterval) return;
  channel().last_refusal = now;
  send_message(channel().frames, CheckpointRefused{why});
}

// Acts on what the host sends; keeps an incomplete message.
void read_requests(std::string& held) {
  while (!held.empty()) {
    std::uint64_t number = 0;
    std::size_t length = 1;
    if (held[0] == kCheckpointKept) {
      length += sizeof number;
      if (held.size() < length) return;
      std::memcpy(&number, held.data() + 1, sizeof number);
      checkpoint::confirm_checkpoint(number);
    } else {
      if (held[0] == kTakeFullCheckpoint) checkpoint::forget_checkpoints();
      checkpoint::raise_flag(true);
    }
    held.erase(0, length);
  }
}

void read_report() {
  checkpoint::WriterReport report{};
  if (::read(channel().written, &report, sizeof report) != sizeof report) return;
  if (report.complete) {
    double pause_ms = channel().pause_ms;
    if (pause_ms < 0) {
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      pause_ms = std::chrono::duration<double, std::milli>(now).count() - channel().began_ms;
    }
    send_message(channel().frames, Checkpointed{report.number, pause_ms, report.cpu_ms});
  } else {
    checkpoint::raise_flag(true);  // so that R's thread learns why, and tries again
  }
}

void* serve_channels(void*) {
  std::array<pollfd, 2> both{pollfd{channel().frames, POLLIN, 0}, pollfd{channel().written, POLLIN, 0}};
  std::string held;
  while (::poll(both.data(), both.size(), -1) >= 0 || errno == EINTR) {
    if (both[0].revents != 0) {
      std::array<char, 64> bytes{};
      const ssize_t got = ::read(channel().frames, bytes.data(), bytes.size());
      if (got <= 0) both[0].fd = -1;
      held.append(bytes.data(), got < 0 ? 0 : static_cast<std::size_t>(got));
      read_requests(held);
    }
    if (both[1].revents != 0) read_report();
  }
  return nullptr;
}

// Starts a thread for the life of the process. If it cannot be started, the script runs without checkpoints
// that are requested.
void connect_host(const Job& job) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  auto& one = channel();
  one.frames = job.frames;
  one.output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  one.written = ends[0];
  one.marker = job.output_marker;
  checkpoint::set_host({.written = ends[1],
                        .process = ::getpid(),
                        .begun = announce_checkpoint,
                        .forked = keep_pause,
                        .refused = report_refusal,
                        .exact_times = job.exact_times});
  start_side_thread(kChannelStackBytes, serve_channels, nullptr);
}

// "" or why R cannot parse all of the script in advance as it would expression by expression.
std::string why_not_resumable(const Job& job, SEXP expressions) {
  if (job.script.contains("keep.source"))
    return "the script mentions keep.source, an option with which R parses the rest of it differently";
  if (expressions == nullptr) return "the script cannot be parsed to its end";
  return {};
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
  const SEXP expressions = parsed(job.script);
  const Protected script(expressions == nullptr ? R_NilValue : expressions);
  if (job.checkpoint < 0) {
    if (const auto why = why_not_resumable(job, expressions); !why.empty()) {
      send_message(job.frames, NotResumable{why});
      return false;
    }
  }
  connect_host(job);
  engine_used = true;
  const auto why = checkpoint::begin_job({script, job.script, job.exec_file}, job.out_path,
                                         job.checkpoint_every_ms, job.checkpoint);
  if (!why.empty()) {
    send_message(job.frames, ResumeFailed{why});
    ::_exit(1);
  }
  if (job.checkpoint >= 0) {
    send_message(job.frames, Resumed{});
    watch_resumed();
  }
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
