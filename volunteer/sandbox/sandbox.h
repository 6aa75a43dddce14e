// Runs guests: one sandboxed process for each job, forked from a zygote that has R initialised.
//
// An object belongs to the thread that made it, and its calls never block that thread, except where noted.
// Add descriptor() to the thread's poll loop; call take_events() when it is readable and at least once a
// second, because limits are enforced there.
//
// Guests are forked ahead of time (spares); start() gives a job to a spare. A zygote that dies is started
// again; its guests end as `sandbox_failure`. The kernel kills the zygote and every guest when the thread or
// process that owns the Sandbox dies.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "volunteer/sandbox/cgroup.h"
#include "volunteer/sandbox/descriptor.h"
#include "volunteer/sandbox/fd_message.h"
#include "volunteer/sandbox/guest.h"
#include "volunteer/sandbox/guest_monitor.h"
#include "volunteer/sandbox/job_disc.h"
#include "volunteer/sandbox/protections.h"
#include "volunteer/sandbox/scan_budget.h"
#include "volunteer/sandbox/uids.h"
#include "volunteer/sandbox/zygote.h"

namespace remotist::volunteer {

struct SandboxOptions {
  std::filesystem::path runner;  // the program remotist-runner
  std::filesystem::path guests;  // parent of the guests' folders; used by this Sandbox only
  std::size_t guests_max = 64;   // running at the same time
  Protections protections{};     // tests switch some off
};

class Sandbox {
 public:
  // Starts the zygote and returns before it is ready. Throws std::runtime_error, with a message for the
  // machine's owner, when a required protection is not available here.
  explicit Sandbox(SandboxOptions options);
  // Kills the zygote and every guest.
  ~Sandbox() = default;
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  int descriptor() const { return epoll_.get(); }
  std::vector<Event> take_events();

  // Creates the guest's folder with an empty `work` in it and sets `folder` and `disc`. The folder is on a
  // file system of the size of the guest's limits where this machine can make one, else in
  // SandboxOptions::guests. Requires name, limits and watched variables. A second call keeps the folder. Any
  // thread; takes some tens of milliseconds unless a prepared or reused file system is available. Throws
  // std::system_error.
  void make_folder(GuestSpec& spec);
  // Creates file systems in advance for guests that ask for `disc_mb`. Any thread; blocks.
  void prepare_discs(std::int64_t disc_mb, std::size_t count);

  // Whether the zygote can fork. Guests started earlier wait until it can.
  bool ready() const { return zygote_ != nullptr && zygote_ready_; }
  // Optional protections that the kernel refused the zygote, by their names in protection_probe.h.
  std::vector<std::string> missing() const;

  // Starts a guest. Every failure is reported as an Ended event. Takes the folder over until Ended (as root,
  // gives it to the guest's uid); the caller then deletes it with remove_folder(). Requires a name that is
  // not in use and fewer than guests_max guests.
  void start(GuestSpec spec);
  // Kills a guest and every process that it started; it ends as `cancelled`. Ignores unknown names.
  void stop(std::string_view name);
  // Stops all processes of a guest until they are let go on. Ignores unknown names, and guests that wait for
  // their process.
  void set_frozen(std::string_view name, bool frozen);
  // Asks a resumable guest for a checkpoint, which it takes at its next safe point and which comes as an
  // event. Ignores unknown names.
  void request_checkpoint(std::string_view name);
  // The same, and the checkpoint refers to no chunk of an earlier one: its file has the frames of all.
  void request_full_checkpoint(std::string_view name);
  // All chunks of this checkpoint are kept: the files of later ones may leave their frames out. Ignores
  // unknown names and numbers.
  void confirm_checkpoint(std::string_view name, std::uint64_t number);

  // CPU time of a running guest with all its processes; none when it is not running.
  std::optional<std::int64_t> cpu_ms(std::string_view name) const;
  // The log of a running guest so far, bounded like its file.
  std::string log_so_far(std::string_view name) const;

  // For tests and memory figures; 0 when there is none. process_of() is the process that runs the script; its
  // parent is the first process of the guest's pid namespace.
  pid_t zygote() const { return zygote_ ? zygote_->process() : 0; }
  pid_t process_of(std::string_view name) const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kRestartPause{200};

  // What a descriptor in epoll_ belongs to; the last four come with the number of a GuestSlot.
  enum class Source : std::uint8_t { wake, timer, control, zygote, socket, output, exit_report, pidfd };

  // A forked process: a spare, a running guest, or one whose end was reported and that has not exited yet.
  struct GuestSlot {
    ForkedGuest forked;  // empty while `monitor` holds it
    std::unique_ptr<GuestMonitor> monitor;
    std::size_t uid_index = 0;
    bool reported = false;  // Ended was reported; only the first process is left
    // Since when it has been dead without a known cause, which may be the death of the zygote.
    std::optional<Time> unexplained_since{};
    const ForkedGuest& process() const { return monitor ? monitor->forked() : forked; }
  };

  // sandbox.cc
  void handle(Source source, std::uint32_t slot, Time now);
  void resolve_ended(std::uint32_t number, Time now);
  void start_waiting();
  void start_on_spare(std::unique_ptr<GuestMonitor> monitor);
  void report_end(std::uint32_t number);
  void report(std::string name, Ended ended);
  void free_slot(std::uint32_t number);
  void refuse_waiting(const std::string& reason);
  void tick(Time now);
  void set_timer();
  void set_epoll(int descriptor, Source source, std::uint32_t slot, bool readable = true);
  GuestMonitor* find(std::string_view name) const;
  std::optional<std::size_t> unused_uid_index() const;

  // sandbox_zygote.cc
  void start_zygote();
  void read_zygote();
  void on_zygote_death();
  void adopt_forked_guest(FdMessage message);
  void discard_forked_guest(std::uint32_t number, int error);
  void set_missing(std::string_view lines);
  void request_spares();
  void schedule_retry(const std::string& reason);
  std::string zygote_failure() const;

  const SandboxOptions options_;
  JobDiscs discs_;
  Uids uids_;
  std::unique_ptr<Cgroups> cgroups_;
  Descriptor epoll_;
  Descriptor timer_;
  Descriptor wake_;
  ScanBudget scans_;
  std::map<std::uint32_t, GuestSlot> slots_;
  std::deque<std::uint32_t> spares_;                   // slots
  std::deque<std::unique_ptr<GuestMonitor>> waiting_;  // for a spare
  std::vector<bool> uids_used_;
  std::vector<Event> events_;
  std::list<std::unique_ptr<Cgroup>> unremoved_;  // cgroups that still had a process; removal is retried
  std::uint32_t next_slot_ = 1;
  std::size_t spares_requested_ = 0;  // existing spares included
  int failures_ = 0;                  // in a row: a zygote that was never ready, a guest without its cgroup
  std::string zygote_error_;
  std::map<std::string, std::string> missing_;  // protection -> reason
  std::optional<Time> retry_at_;
  bool zygote_ready_ = false;
  bool timer_set_ = false;
  std::random_device random_;
  std::unique_ptr<Zygote> zygote_;  // last member: destroyed first
};

// Deletes a guest's folder with everything in it, whatever modes, names, depths and links the guest left.
// Follows no link and never leaves the folder. Requires that GuestSpec::disc still exists. Throws
// std::system_error.
void remove_folder(const std::filesystem::path& folder);

}  // namespace remotist::volunteer
