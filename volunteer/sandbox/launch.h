// What the agent sends to a zygote when it starts it, and to a guest when it gives it a job; and the messages
// between agent and zygote. All of it comes from our own processes and is trusted.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "volunteer/sandbox/guest.h"
#include "volunteer/sandbox/protections.h"

namespace remotist::volunteer {

// Descriptors that a zygote is started with.
inline constexpr int kControlDescriptor = 3;  // socket to the Sandbox, for FdMessages
inline constexpr int kGuestsDescriptor = 4;   // with Protections::own_root: the guests' folder

// Texts of the FdMessages on the control socket.
inline constexpr std::string_view kUidsMapped = "uids_mapped";  // to the zygote, once: it may go on
// From the zygote: R is initialised. Followed by a line "name: reason" for each optional protection that the
// kernel refused, by its name in protection_probe.h.
inline constexpr std::string_view kReady = "ready";
// To the zygote: fork one spare. It answers each request with one `forked` and three descriptors: the pidfd
// of the guest's first process, the guest's socket, and the pipe that its ExitReport is read from.
inline constexpr std::string_view kFork = "fork";
inline constexpr std::string_view kForked = "forked";
inline constexpr std::string_view kFailed = "failed ";  // from the zygote, with the reason; it then exits

// Single bytes on a guest's socket.
inline constexpr char kProceed = 'p';  // the first: its first process is in its cgroup and may go on
// Later, to a resumable guest: take a checkpoint at the next safe point; the same, with all its frames.
inline constexpr char kTakeCheckpoint = 'c';
inline constexpr char kTakeFullCheckpoint = 'f';
inline constexpr char kCheckpointKept = 'k';  // followed by its number, u64: all its chunks are kept

// Paths in a guest's mount namespace.
inline constexpr auto kGuestsMount = "/guests";
inline constexpr auto kWorkMount = "/work";
inline constexpr auto kOutMount = "/out";
inline constexpr auto kTmpFolder = "tmp";  // in the guest's folder; mounted at /tmp

struct ZygoteConfig {
  Protections protections{};
  bool uid_range = false;
  // The path of the guests' folder, only without Protections::own_root: this text stays in the memory of
  // every guest, and the path identifies the machine's owner.
  std::string guests{};
  bool guests_detached = false;  // kGuestsDescriptor is a detached mount
  bool memory_counted = true;    // of PolicyOptions
};
std::string encode(const ZygoteConfig& config);
// Throws nlohmann::json::exception.
ZygoteConfig parse_zygote_config(std::string_view text);

// Sent to a spare with descriptors: the write end of its output pipe; with own_disc the mount of its file
// system; to resume, the open checkpoint.
struct GuestConfig {
  std::string folder;     // its name in the guests' folder or on its own file system
  bool own_disc = false;  // the folder is on a file system of its own
  std::string exec_file;
  uid_t uid = 0;  // in the zygote's user namespace; with uid_range
  GuestLimits limits{};
  std::vector<std::string> watched_variables{};
  bool resumable = false;
  std::int64_t checkpoint_every_ms = 0;
  std::string output_marker{};  // of a resumable guest: kOutputMarkerBytes, see output_marker.h
  // The times of files on the file system of its folder show every change (ext4, XFS, Btrfs).
  bool exact_times = false;
  bool resumes = false;                                  // a checkpoint is among the descriptors
  std::map<std::size_t, ResumeFrom::Watched> watched{};  // of ResumeFrom
};
std::string encode(const GuestConfig& config);
// Throws nlohmann::json::exception.
GuestConfig parse_guest_config(std::string_view text);

// Written by a guest's first process, which is our code, when all other processes of the guest are gone.
struct ExitReport {
  int wait_status;  // of the job's process
  std::int64_t cpu_us;
  std::int64_t rss_kb_peak;
};

}  // namespace remotist::volunteer
