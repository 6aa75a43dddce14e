// R in this process: initialised once in the zygote, then used by each guest in its forked copy.
//
// Belongs to the main thread. No other thread may exist before a fork.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "volunteer/sandbox/guest_message.h"

namespace remotist::volunteer {

// Starts R through RInside, installs the runtime of jobs, and warms R up. Throws std::runtime_error when R
// does not start or has started a thread.
void start_r();

// Calls `serve` at R's top level, where run_job() may be called. Returns when it returns. Requires start_r().
void with_r(const std::function<void()>& serve);

// Runs the code paths of every job on a small script, so that the copy-on-write faults of this process's
// memory happen before it gets a job. Leaves no state.
void touch_r_pages();

struct Job {
  int frames;          // socket to the host
  int out;             // folder for the result
  std::string script;  // its text
  std::int64_t heap_mb;
  bool limit_heap;
  std::vector<std::string> watched_variables;
  bool resumable = false;
  std::string out_path{};   // of `out`
  std::string exec_file{};  // of the script
  std::int64_t checkpoint_every_ms = 0;
  std::string output_marker{};                           // with resumable: volunteer/sandbox/output_marker.h
  bool exact_times = false;                              // of GuestConfig
  int checkpoint = -1;                                   // to resume from
  std::map<std::size_t, ResumeFrom::Watched> watched{};  // the newest records before it
};
// Runs the script as Rscript would, reports its end to the host and exits.
[[noreturn]] void run_job(const Job& job);

// Sends one message; ignores a failure. Any thread.
void send_message(int frames, const GuestMessage& message);
// The same for encoded frames.
void send_frames(int frames, std::string_view bytes);

}  // namespace remotist::volunteer
