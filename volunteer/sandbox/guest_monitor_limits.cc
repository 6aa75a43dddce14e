// How a GuestMonitor measures and enforces the limits on CPU time, memory and disc.
#include <algorithm>
#include <format>
#include <utility>

#include "volunteer/sandbox/deleted_files.h"
#include "volunteer/sandbox/guest_monitor.h"
#include "volunteer/sandbox/job_disc.h"
#include "volunteer/sandbox/rlimits.h"

namespace remotist::volunteer {

using Clock = std::chrono::steady_clock;

// Starts with the kind that the last call had no time for, so that no kind is starved by the others.
bool GuestMonitor::scan(ScanBudget& scans) {
  const auto now = Clock::now();
  for (int kinds = 0; kinds < 3; ++kinds) {
    const auto began = Clock::now();
    if (!scans.has_time(began)) return false;
    switch (next_scan_) {
      case Scan::cpu:
        if (!cgroup_counts_cpu()) read_cpu_time();
        break;
      case Scan::memory:  // charges the budget itself
        if (now >= next_memory_scan_ && !scan_memory(scans)) return false;
        break;
      case Scan::disc:
        if (protections_.disc_limit && now >= next_disc_check_) check_disc();
        break;
    }
    const auto ended = Clock::now();
    if (next_scan_ != Scan::memory) scans.charge(ended - began, ended);
    next_scan_ = static_cast<Scan>((static_cast<int>(next_scan_) + 1) % 3);
  }
  return true;
}

bool GuestMonitor::cgroup_counts_cpu() const {
  return forked_.cgroup && forked_.cgroup->cpu_us();
}

void GuestMonitor::read_cpu_time() {
  if (cgroup_counts_cpu()) {
    cpu_ms_seen_ = std::max(cpu_ms_seen_, *forked_.cgroup->cpu_us() / 1000 - cpu_ms_before_);
  } else if (!ended_) {
    cpu_ms_seen_ = std::max(cpu_ms_seen_, cpu_sampler_.sample(forked_.process, Clock::now()));
  }
}

bool GuestMonitor::scan_memory(ScanBudget& scans) {
  const bool counted = forked_.cgroup && forked_.cgroup->ram_kb_peak();
  auto since = Clock::now();
  const auto use = memory_scan_.resume(forked_.process, counted, [&] {
    const auto now = Clock::now();
    scans.charge(now - std::exchange(since, now), now);
    return !scans.has_time(now);
  });
  const auto now = Clock::now();
  scans.charge(now - since, now);
  if (!use) return false;
  next_memory_scan_ = now + kMemoryEvery;
  ram_kb_peak_ = std::max(ram_kb_peak_, use->kb);
  if (auto message = memory_excess(*use, spec_.limits); protections_.rlimits && !message.empty())
    end_at_limit(Limit::ram, std::move(message));
  return true;
}

void GuestMonitor::check_disc() {
  next_disc_check_ = Clock::now() + kDiscEvery;
  if (spec_.disc) return read_disc_state();
  const auto [fatal, inodes_fatal] = disc_size(spec_);
  auto size = measure_folder(spec_.folder, fatal, inodes_fatal);
  const auto deleted = deleted_files_of(forked_.process, fatal);
  size.bytes += deleted.bytes;
  size.inodes += deleted.files;
  const bool was_hidden = std::exchange(files_hidden_, deleted.hidden);
  if (deleted.hidden && was_hidden) {
    end_at_limit(
        Limit::disc,
        "The job ran a program that may be executed but not read, so that this machine cannot measure "
        "the files that it has open.");
  } else if (size.bytes > fatal) {
    end_at_limit(Limit::disc,
                 std::format("The job's files took more than {} MB of disc.{}", spec_.limits.disc_mb,
                             deleted.unmeasured ? " A file that was deleted while it was mapped and "
                                                  "not open counts as all of it."
                                                : ""));
  } else if (size.inodes > inodes_fatal) {
    end_at_limit(Limit::inodes,
                 std::format("The job made more than {} files and folders.", spec_.limits.inodes_max));
  }
  next_disc_check_ = Clock::now() + kDiscEvery;
}

// The kernel refuses writes to a full file system, and the script sees the error and may free space. So this
// only records the current state as evidence.
void GuestMonitor::read_disc_state() {
  evidence_.full = spec_.disc->full();
  if (evidence_.full == Limit::disc)
    evidence_.full_message =
        std::format("The job's files took all of its {} MB of disc.", spec_.limits.disc_mb);
  if (evidence_.full == Limit::inodes)
    evidence_.full_message =
        std::format("The job made as many files and folders as it may, {}.", spec_.limits.inodes_max);
}

// Deleted files that filled the disc are freed with the job's processes, so the R error may be the only
// evidence. A job can forge that message, but only about itself.
void GuestMonitor::note_refused_write() {
  const auto* failed = evidence_.final_message ? std::get_if<Failed>(&*evidence_.final_message) : nullptr;
  if (evidence_.full || failed == nullptr) return;
  if (!failed->message.contains("No space left on device")) return;
  evidence_.full = Limit::disc;
  evidence_.full_message = std::format("The job used up its {} MB of disc, or its {} files and folders.",
                                       spec_.limits.disc_mb, spec_.limits.inodes_max);
}

}  // namespace remotist::volunteer
