// One job as the sandbox sees it: what is run, within which limits, what it says meanwhile, and how it ended.
//
// A guest's failure is data, never the host's error: whatever the script does, a guest that was started ends
// in exactly one Verdict. Everything here that a guest said is the job's word: bounded and checked in form,
// never believed. CPU time, wall clock, memory and the way it ended are the host's own measurements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace remotist::volunteer {

class JobDisc;

// What a guest may use. Each is enforced, and going past it ends in Ending::limit or in an R error that the
// script can see.
struct GuestLimits {
  std::int64_t cpu_cores = 1;
  std::optional<std::int64_t> cpu_ms_max;  // of all its processes and threads
  std::int64_t ram_mb = 512;               // R's own limit < address space < cgroup, where there is one
  std::int64_t disc_mb = 100;              // its folder, with what was put there before it began
  std::int64_t inodes_max = 100'000;
  std::int64_t processes_max = 64;  // threads count
  std::int64_t descriptors_max = 256;
  // Where no cgroup counts their memory; they come out of what the agent's user may have in pipes, 1024 in
  // all.
  std::int64_t pipes_max = 256;
  std::int64_t locks_max = 1'000;            // on files: memory of the kernel
  std::size_t output_bytes_max = 256 << 10;  // kept of stdout and stderr: head and tail, the cut marked
};

// A guest's folder has, before it starts, a folder `work`: the job's files and its working directory,
// writable. The guesthouse adds `out` (what the runner writes: result.rds, or error.rds) and `log`.
struct GuestSpec {
  std::string name;                 // of letters, digits and '-'; no two that run have the same
  std::filesystem::path folder{};   // absolute; from Guesthouse::make_folder(), or directly below its guests
  std::shared_ptr<JobDisc> disc{};  // the file system that it stands on alone; none: the disc is watched
  std::string exec_file{};          // relative to work
  GuestLimits limits{};
  std::vector<std::string> watched{};  // names of watched variables, as core/watch_name.h reads them
  bool resumable = false;  // its script runs through the checkpoint engine, and checkpoints can be asked for
  std::int64_t checkpoint_every_ms = 0;  // without being asked; 0: never
  std::filesystem::path resume_from{};   // a checkpoint; empty: from the beginning
};

inline constexpr auto kWorkFolder = "work";
inline constexpr auto kOutFolder = "out";
inline constexpr auto kLogFile = "log";  // stdout and stderr together, in the order in which they came
inline constexpr auto kResultFile =
    "result.rds";  // in out: a list of every variable of the job's environment
inline constexpr auto kCheckpointFile = "checkpoint";  // in the guest's folder: its newest checkpoint
inline constexpr auto kErrorFile = "error.rds";        // in out: the same of the environment at the error

enum class Ending : std::uint8_t {
  completed,
  r_error,
  cancelled,        // by Guesthouse::stop()
  limit,            // Verdict::limit says which
  killed,           // by a signal of its own making: a segfault, an abort
  sandbox_failure,  // the sandbox could not be set up, or was killed from outside: not the job's doing
};
std::string_view name_of(Ending ending);

struct Verdict {
  Ending ending = Ending::sandbox_failure;
  std::string limit{};    // with limit: cpu, ram, disc, inodes, frames
  std::string message{};  // what happened, for a person; with r_error what R said
  std::string call{};     // with r_error, deparsed
  std::vector<std::string> traceback{};
  std::int64_t cpu_ms = 0;
  std::int64_t wall_ms = 0;
  std::int64_t ram_kb_peak = 0;
  std::vector<std::string> made{};  // regular files of work that are new or changed, by path; no links. All
                                    // of them have a kept_file_path(), and no two the same
};

struct Progress {
  double fraction;  // 0 to 1
  std::string message;
};
struct PartialValue {  // a watched variable changed
  enum class Kind : std::uint8_t { value, removed, problem };
  std::size_t variable;   // index into GuestSpec::watched
  std::uint64_t number;   // counts this variable's records in this run: 1, 2, 3 …
  std::uint64_t changes;  // how many changes it stands for; 0: not known
  std::int64_t at_us;     // when, since the run began
  Kind kind;
  std::string
      bytes{};         // kind value: R's serialize() stream when it is small (limits::kWatchedInlineBytesMax)
  std::string file{};  // else: its file in the guest's out folder, as weighed by weigh_partial_file()
  std::string words{};  // kind problem: why it cannot be shown
};
struct CheckpointTaken {  // kCheckpointFile is a new one
  std::int64_t bytes;
};
// When what happened, counted from start(); 0 for what did not. For benchmarks.
struct Steps {
  std::int64_t prepared_us = 0;  // its folder
  std::int64_t ordered_us = 0;   // its process was told what to run
  std::int64_t began_us = 0;     // every defence is up
  std::int64_t told_us = 0;      // its last word
  std::int64_t exited_us = 0;    // every process is gone
  std::int64_t ended_us = 0;
};
struct Ended {
  Verdict verdict;
  Steps steps{};
};
struct Event {
  std::string guest;
  std::variant<Progress, PartialValue, CheckpointTaken, Ended>
      what;  // after Ended nothing follows for this guest
};

}  // namespace remotist::volunteer
