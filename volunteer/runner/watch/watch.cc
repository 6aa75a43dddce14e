#include "volunteer/runner/watch/watch.h"

#include <malloc.h>
#include <pthread.h>
#include <utility>

#include "core/limits.h"
#include "volunteer/runner/r_session.h"
#include "volunteer/runner/watch/change_sampler.h"
#include "volunteer/runner/watch/interception.h"
#include "volunteer/runner/watch/word_hash.h"

namespace remotist::volunteer {

namespace {

SEXP compiler_instrumentation = nullptr;
ChangeSampler* the_sampler = nullptr;  // never deleted: R and a thread refer to it until the process ends

// Where nothing can be watched: the marks of all checkpoints.
int frames_of_problem = -1;
std::vector<WatchedMark> marks_of_problem;

void report_problem_of_all(const WatchOptions& options, const char* reason) {
  const auto hash = hash_of_reason(reason);
  const std::string bytes{reinterpret_cast<const char*>(&hash), sizeof hash};
  frames_of_problem = options.frames;
  for (std::size_t i = 0; i < options.names.size(); ++i) {
    const auto last = options.last.find(i);
    const bool told =
        last != options.last.end() && last->second.kind == WatchedKind::problem && last->second.hash == bytes;
    marks_of_problem.push_back({told ? 0 : 1, WatchedKind::problem, bytes});
    if (told) continue;
    send_message(
        options.frames,
        GuestRecord{.variable = i, .record = {.number = 1, .kind = WatchedKind::problem, .words = reason}});
  }
}

}  // namespace

void prepare_watch(SEXP instrument_compiler) {
  R_PreserveObject(instrument_compiler);
  compiler_instrumentation = instrument_compiler;
}

void begin_watch(const WatchOptions& options) {
  if (options.names.empty()) return;
  if (!can_intercept())
    return report_problem_of_all(options, "variables cannot be watched in this version of R");
  // A second arena would be 64 MB of the job's address space.
  ::mallopt(M_ARENA_MAX, 1);
  const auto heap_bytes = static_cast<std::size_t>(options.heap_mb) << 20;
  auto* const sampler = new ChangeSampler(
      options.names,
      {options.frames, options.out, limits::kWatchedFileBytesMax, heap_bytes, options.resumes, options.last});
  if (!sampler->start())
    return report_problem_of_all(options, "variables cannot be watched: no thread can be started");
  if (!intercept(*sampler, compiler_instrumentation)) {
    return report_problem_of_all(options, "variables cannot be watched: the compiler of this R is unknown");
  }
  the_sampler = sampler;
  ::pthread_atfork(nullptr, nullptr, [] {
    if (the_sampler != nullptr) the_sampler->disable_in_child();
  });
}

void watch_resumed() {
  if (the_sampler != nullptr) the_sampler->resumed();
}

void mark_watched(std::uint64_t number) {
  if (the_sampler != nullptr) return the_sampler->mark(number);
  if (!marks_of_problem.empty()) send_message(frames_of_problem, WatchedMarks{number, marks_of_problem});
}

void watch_between_expressions() {
  if (the_sampler == nullptr) return;
  the_sampler->end_all_batches();
  the_sampler->check_all(true);
}

void end_watch() {
  if (auto* const sampler = std::exchange(the_sampler, nullptr)) sampler->finish();
}

}  // namespace remotist::volunteer
