// R in this process: initialised once in the zygote, then run by each guest in its own copy.
//
// Belongs to the main thread, and no other thread may ever exist before a fork.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "volunteer/sandbox/word.h"

namespace remotist::volunteer {

// Starts R through RInside, gives it the runtime of jobs, and warms it up. Throws std::runtime_error, in
// words, when R does not start or has started a thread.
void start_r();

// Calls `serve` where a job may later be run. Needs start_r(). Returns when it returns.
void with_r(const std::function<void()>& serve);

// Runs what every job runs, on a script of our own, so that this process's copy of that memory is made before
// a job waits for it. Leaves nothing.
void rehearse();

struct Job {
  int frames;          // socket to the host
  int out;             // folder for the result
  std::string script;  // its text
  std::int64_t heap_mb;
  bool limit_heap;
  std::vector<std::string> watched;  // the client's names
  bool resumable = false;
  std::string out_path{};  // of `out`
  std::int64_t checkpoint_every_ms = 0;
  int checkpoint = -1;  // to go on from
};
// Runs the script as Rscript would, tells the host how it ended and leaves the process.
[[noreturn]] void run_job(const Job& job);

// Sends one word; what cannot be sent is lost. Any thread.
void say(int frames, const Word& word);
// The same of whole frames.
void say_frames(int frames, std::string_view bytes);

}  // namespace remotist::volunteer
