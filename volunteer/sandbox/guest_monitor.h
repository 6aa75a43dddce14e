// The host's side of one guest, from Sandbox::start() to Ended: its folder, descriptors, limits and messages.
//
// Belongs to the Sandbox's thread and never blocks it. The Sandbox polls the descriptors and calls the reader
// of the one that is readable.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/token_bucket.h"
#include "volunteer/sandbox/cgroup.h"
#include "volunteer/sandbox/checkpoint_marks.h"
#include "volunteer/sandbox/cpu_sampler.h"
#include "volunteer/sandbox/descriptor.h"
#include "volunteer/sandbox/folder.h"
#include "volunteer/sandbox/frames.h"
#include "volunteer/sandbox/guest.h"
#include "volunteer/sandbox/memory_use.h"
#include "volunteer/sandbox/output_log.h"
#include "volunteer/sandbox/output_marker.h"
#include "volunteer/sandbox/protections.h"
#include "volunteer/sandbox/scan_budget.h"
#include "volunteer/sandbox/uids.h"
#include "volunteer/sandbox/verdict.h"

namespace remotist::volunteer {

// A guest's process as the zygote forked it; a spare until it gets a GuestConfig.
struct ForkedGuest {
  pid_t process = -1;  // the first process of its pid namespace
  Descriptor pidfd;
  Descriptor socket;     // messages
  Descriptor exit_pipe;  // one ExitReport
  std::unique_ptr<Cgroup> cgroup;
};

class GuestMonitor {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Takes the folder over and prepares it. Throws std::system_error when that fails.
  GuestMonitor(GuestSpec spec, std::size_t uid_index, const Uids& uids, const Protections& protections);

  const GuestSpec& spec() const { return spec_; }
  std::size_t uid_index() const { return uid_index_; }
  bool has_process() const { return forked_.process > 0; }
  const ForkedGuest& forked() const { return forked_; }
  int output() const { return output_.get(); }  // stdout and stderr; -1 when closed

  // Sets the cgroup's limits and sends the GuestConfig. Throws std::system_error when the process is gone or
  // descriptors cannot be made. A limit or disc that this machine refuses ends the guest instead.
  void start(ForkedGuest forked);

  // Each requires that its descriptor is readable.
  void read_messages(std::vector<Event>& events);
  // False when the guest printed more than its budget: do not poll before the next enforce_limits().
  bool read_output(std::vector<Event>& events);
  void read_exit_report();
  // Call regularly: measures the guest, kills it at a limit, and releases progress that was held back. False
  // when `scans` did not suffice for everything that was due.
  bool enforce_limits(std::vector<Event>& events, ScanBudget& scans);

  // Kills the guest; it ends as cancelled.
  void stop();
  // Stops its processes until they are let go on; they can be killed meanwhile.
  void set_frozen(bool frozen);
  void request_checkpoint();
  void request_full_checkpoint();
  void confirm_checkpoint(std::uint64_t number);
  void set_zygote_died() { evidence_.zygote_died = true; }

  // Whether every process of the guest has exited.
  bool ended() const { return ended_; }
  void set_ended() { ended_ = true; }
  // Requires ended(). False when the first process died and neither the guest nor the host is known to have
  // caused it.
  bool end_explained() const;
  // Requires ended(). Whether the script had not begun and the end is unexplained, so that the guest may be
  // started on another process. reset_for_restart() prepares that and returns the dead process.
  bool can_restart();
  ForkedGuest reset_for_restart();
  // Requires ended(), or that start() was never called, for the reason given in `not_started`. Writes the log
  // and appends the guest's last messages to `events`.
  Ended finish(std::vector<Event>& events, const std::string& not_started = {});
  ForkedGuest release() { return std::move(forked_); }

  // As of the last enforce_limits().
  std::int64_t cpu_ms() const { return cpu_ms_seen_; }
  std::string log_so_far() const { return log_.text(); }

 private:
  // guest_monitor.cc
  void handle(GuestMessage message, std::string body, std::vector<Event>& events);
  void handle_record(GuestRecord given, std::string body, std::vector<Event>& events);

  // guest_monitor_checkpoints.cc
  void handle_checkpoint(GuestMessage message, std::vector<Event>& events);
  void keep_checkpoint_file(const Checkpointed& message);
  void report_checkpoints(std::vector<Event>& events);
  void add_output(std::string_view bytes, std::vector<Event>& events);
  void tell_guest(std::string_view bytes) const;
  void request(char kind);
  void send_held_request();

  // guest_monitor.cc
  void end_at_limit(Limit limit, std::string message);
  void kill();
  void refuse(const std::string& reason);
  void read_remaining();
  void prepare_folder();
  void reserve_log() const;
  bool keep_if_file(const char* name) const;
  void write_log() const;

  // guest_monitor_limits.cc
  bool scan(ScanBudget& scans);
  bool scan_memory(ScanBudget& scans);
  bool cgroup_counts_cpu() const;
  void read_cpu_time();
  void check_disc();
  void read_disc_state();
  void note_refused_write();

  static constexpr std::chrono::milliseconds kMemoryEvery{500};
  static constexpr std::chrono::milliseconds kDiscEvery{50};
  enum class Scan : std::uint8_t { cpu, memory, disc };

  GuestSpec spec_;
  std::size_t uid_index_;
  Uids uids_;
  Protections protections_;
  Descriptor folder_;
  FolderState before_;
  ForkedGuest forked_;
  Descriptor output_;
  OutputLog log_;
  FrameReader frames_;
  TokenBucket frame_budget_;
  TokenBucket byte_budget_;
  TokenBucket progress_budget_;
  TokenBucket output_budget_;
  TokenBucket value_budget_;           // bytes of watched values in files
  std::vector<std::int64_t> records_;  // number of the newest record of each watched variable
  std::vector<Event> late_events_;     // sent before the guest's end, read after it
  std::optional<Progress> held_progress_;
  std::optional<Progress> newest_progress_;
  OutputMarkers output_markers_;
  CheckpointMarks checkpoint_marks_;
  TokenBucket refusal_budget_;  // CheckpointRefused events
  bool told_not_resumable_ = false;
  char request_ = 0;  // for a checkpoint, before Began
  Evidence evidence_;
  std::int64_t cpu_ms_before_ = 0;  // used by the spare
  std::int64_t cpu_ms_seen_ = 0;
  CpuSampler cpu_sampler_;  // where no cgroup counts CPU time
  std::int64_t ram_kb_peak_ = 0;
  MemoryScan memory_scan_;
  bool files_hidden_ = false;  // a process was, at the last look for deleted files
  Time started_;
  Time next_memory_scan_;
  Time next_disc_check_;
  Scan next_scan_ = Scan::cpu;
  bool ended_ = false;
  Steps steps_;
};

}  // namespace remotist::volunteer
