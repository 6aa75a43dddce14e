// One job as the sandbox sees it: what to run, within which limits, the events while it runs, and how it
// ended.
//
// A guest's failure is data, never an error of the host: every guest that is started ends in exactly one
// Verdict. Everything that a guest sent is untrusted: bounded and checked for its form. CPU time, wall clock,
// memory and the way it ended are measured by the host.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
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

// The newest record of a watched variable before a checkpoint.
struct WatchedMark {
  std::int64_t number = 0;  // 0: this guest has sent none; one that it resumed after may have
  WatchedKind kind{};
  // Of the value or of the reason: opaque bytes, at most kWatchedHashBytesMax. Empty: never recorded, by no
  // guest of the job.
  std::string hash{};
};
inline constexpr std::size_t kWatchedHashBytesMax = 32;

// A checkpoint that a guest resumes from, and what its host keeps beside it, as of that checkpoint.
struct ResumeFrom {
  std::filesystem::path file{};    // the checkpoint
  std::string log{};               // as CheckpointTaken::log
  std::uint64_t log_left_out = 0;  // likewise
  struct Watched {                 // of WatchedMark
    WatchedKind kind{};
    std::string hash{};
  };
  std::map<std::size_t, Watched> watched{};  // by index into watched_variables; absent: hash was empty
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
  std::optional<ResumeFrom> resume_from{};
};

inline constexpr auto kWorkFolder = "work";
inline constexpr auto kOutFolder = "out";
inline constexpr auto kLogFile = "log";                // stdout and stderr, interleaved as they came
inline constexpr auto kResultFile = "result.rds";      // in out: list of the global environment's variables
inline constexpr auto kErrorFile = "error.rds";        // in out: the same at the error, and its frame's
inline constexpr auto kCheckpointFile = "checkpoint";  // with a hyphen and a number: CheckpointTaken::file

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
  // The guest ended before Resumed, other than by Sandbox::stop(): the script has not gone on, the ending is
  // sandbox_failure and the message says why it was not resumed.
  bool resume_failed = false;
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
struct Resumed {};     // the state of the checkpoint is restored; the script goes on now
struct NotResumable {  // the script runs without the checkpoint engine
  std::string reason;
};
struct CheckpointRefused {  // a requested checkpoint is not possible so far; at most one a second
  std::string reason;       // the newest
};
// A complete checkpoint. What the guest says of it is untrusted, as the file's contents are.
struct CheckpointTaken {
  std::uint64_t number = 0;  // of this guest's checkpoints: increases; those that failed have one, too
  // In the guest's folder, where the guest can open it no more; but it may still have it open. The receiver
  // deletes it.
  std::filesystem::path file{};
  std::int64_t bytes = 0;
  double pause_ms = 0;      // of R, as the guest says
  double child_cpu_ms = 0;  // of the process that wrote the file, as the guest says
  // When the state was captured, by the host's clocks: the guest's CPU time, the log, and the newest
  // progress.
  std::int64_t cpu_ms = 0;
  std::chrono::steady_clock::time_point at{};
  std::string log{};               // its kept bytes, without the line that marks what was left out
  std::uint64_t log_left_out = 0;  // between the halves of what was kept
  std::optional<Progress> progress{};
  std::vector<WatchedMark> watched{};  // for each of watched_variables
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
  // Ended is a guest's last event.
  std::variant<Progress, GuestRecord, Resumed, NotResumable, CheckpointRefused, CheckpointTaken, Ended> what;
};

}  // namespace remotist::volunteer
