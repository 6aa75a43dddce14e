// One job as the sandbox sees it: what to run, within which limits, the events while it runs, and how it
// ended.
//
// A guest's failure is data, never an error of the host: every guest that is started ends in exactly one
// Verdict. Everything that a guest sent is untrusted: bounded and checked for its form. CPU time, wall clock,
// memory and the way it ended are measured by the host.
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

#include "volunteer/sandbox/guest_record.h"

namespace remotist::volunteer {

class JobDisc;

// What a guest may use. Exceeding a limit ends the guest with Ending::limit, or fails in R with an error that
// the script can handle.
struct GuestLimits {
  std::int64_t cpu_cores = 1;
  std::optional<std::int64_t> cpu_ms_max;  // of all its processes and threads
  std::int64_t ram_mb = 512;               // see rlimits.h
  std::int64_t disc_mb = 100;              // its folder, including the job's files
  std::int64_t inodes_max = 100'000;
  std::int64_t processes_max = 64;  // threads count
  std::int64_t descriptors_max = 256;
  // Where no cgroup counts the memory of pipes. They are charged to the agent's user, who may have pages for
  // 1024 pipes in all.
  std::int64_t pipes_max = 256;
  std::int64_t locks_max = 1'000;            // on files: kernel memory that nothing else bounds
  std::size_t output_bytes_max = 256 << 10;  // of stdout and stderr that are kept: head and tail
};

// Before it starts, a guest's folder contains a folder `work` with the job's files, which is the job's
// working directory. The sandbox adds `out` (result.rds or error.rds), `tmp` and `log`.
struct GuestSpec {
  std::string name;                 // letters, digits and '-'; unique among running guests
  std::filesystem::path folder{};   // absolute; from Sandbox::make_folder(), or in SandboxOptions::guests
  std::shared_ptr<JobDisc> disc{};  // the folder's own file system; without one the folder is scanned
  std::string exec_file{};          // relative to work
  GuestLimits limits{};
  std::vector<std::string> watched_variables{};  // in the syntax of core/watch_name.h
  bool resumable = false;                // runs through the checkpoint engine, and can take checkpoints
  std::int64_t checkpoint_every_ms = 0;  // without being asked; 0: never
  std::filesystem::path resume_from{};   // a checkpoint; empty: start from the beginning
};

inline constexpr auto kWorkFolder = "work";
inline constexpr auto kOutFolder = "out";
inline constexpr auto kLogFile = "log";                // stdout and stderr, interleaved as they came
inline constexpr auto kResultFile = "result.rds";      // in out: list of the global environment's variables
inline constexpr auto kErrorFile = "error.rds";        // in out: the same at the error, and its frame's
inline constexpr auto kCheckpointFile = "checkpoint";  // in the guest's folder: the newest checkpoint

// The limits at which the host ends a guest.
enum class Limit : std::uint8_t { cpu, ram, disc, inodes, frames };
std::string_view name_of(Limit limit);

enum class Ending : std::uint8_t {
  completed,
  r_error,
  cancelled,        // by Sandbox::stop()
  limit,            // Verdict::limit says which
  killed,           // by a signal that it caused: a segfault, an abort
  sandbox_failure,  // the sandbox could not be set up or was killed from outside; not the job's fault
};
std::string_view name_of(Ending ending);

struct Verdict {
  Ending ending = Ending::sandbox_failure;
  std::optional<Limit> limit{};  // with Ending::limit
  std::string message{};         // for people; with r_error the message of the R error
  std::string call{};            // with r_error, deparsed
  std::vector<std::string> traceback{};
  std::int64_t cpu_ms = 0;
  std::int64_t wall_ms = 0;
  std::int64_t ram_kb_peak = 0;
  // Paths of regular files in work that are new or changed, no links. Each has a kept_file_path(), and no two
  // the same.
  std::vector<std::string> made{};
};

struct Progress {
  double fraction;  // 0 to 1
  std::string message;
};
struct CheckpointTaken {  // kCheckpointFile is new
  std::int64_t bytes;
};
// Times since Sandbox::start(), for benchmarks; 0 for a step that was not reached.
struct Steps {
  std::int64_t prepared_us = 0;       // the folder
  std::int64_t configured_us = 0;     // GuestConfig was sent
  std::int64_t began_us = 0;          // every protection is in place
  std::int64_t final_message_us = 0;  // Completed or Failed was received
  std::int64_t exited_us = 0;         // every process is gone
  std::int64_t ended_us = 0;
};
struct Ended {
  Verdict verdict;
  Steps steps{};
};
struct Event {
  std::string guest;
  std::variant<Progress, GuestRecord, CheckpointTaken, Ended> what;  // Ended is a guest's last event
};

}  // namespace remotist::volunteer
