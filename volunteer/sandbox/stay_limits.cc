// How a stay is kept within its job's CPU time, memory and disc.
#include <algorithm>
#include <format>
#include <utility>

#include "volunteer/sandbox/deleted_files.h"
#include "volunteer/sandbox/job_disc.h"
#include "volunteer/sandbox/rlimits.h"
#include "volunteer/sandbox/stay.h"

namespace remotist::volunteer {

using Clock = std::chrono::steady_clock;

// Begins with what there was no time for, so that no kind of look is kept from its turn by the others.
bool Stay::watch_limits(LookBudget& looks) {
  const auto now = Clock::now();
  for (int kinds = 0; kinds < 3; ++kinds, next_kind_ = (next_kind_ + 1) % 3) {
    const auto began = Clock::now();
    if (!looks.left(began)) return false;
    if (next_kind_ == 0 && !counted_by_cgroup()) count_cpu();
    if (next_kind_ == 1 && now >= next_look_ && !watch_memory(looks)) return false;
    if (next_kind_ == 2 && layers_.disc_limit && now >= next_weighing_) watch_disc();
    const auto ended = Clock::now();
    if (next_kind_ != 1) looks.spend(ended - began, ended);
  }
  return true;
}

bool Stay::counted_by_cgroup() const {
  return lodging_.cgroup && lodging_.cgroup->cpu_us();
}

void Stay::count_cpu() {
  if (counted_by_cgroup()) {
    cpu_ms_seen_ = std::max(cpu_ms_seen_, *lodging_.cgroup->cpu_us() / 1000 - cpu_ms_before_);
  } else if (!over_) {
    cpu_ms_seen_ = std::max(cpu_ms_seen_, tree_clock_.look(lodging_.process, Clock::now()));
  }
}

bool Stay::watch_memory(LookBudget& looks) {
  const bool counted = lodging_.cgroup && lodging_.cgroup->ram_kb_peak();
  auto since = Clock::now();
  const auto use = memory_look_.go_on(lodging_.process, counted, [&] {
    const auto now = Clock::now();
    looks.spend(now - std::exchange(since, now), now);
    return !looks.left(now);
  });
  const auto now = Clock::now();
  looks.spend(now - since, now);
  if (!use) return false;
  next_look_ = now + kLookEvery;
  ram_kb_peak_ = std::max(ram_kb_peak_, use->kb);
  if (auto words = memory_excess(*use, spec_.limits); layers_.rlimits && !words.empty())
    end_at_limit("ram", std::move(words));
  return true;
}

void Stay::watch_disc() {
  next_weighing_ = Clock::now() + kWeighEvery;
  if (spec_.disc) return look_at_disc();
  const auto [fatal, inodes_fatal] = disc_size(spec_);
  auto weight = weigh_folder(spec_.folder, fatal, inodes_fatal);
  const auto deleted = deleted_files_of(lodging_.process, fatal);
  weight.bytes += deleted.bytes;
  weight.inodes += deleted.files;
  if (weight.bytes > fatal) {
    end_at_limit("disc", std::format("The job's files took more than {} MB of disc.{}", spec_.limits.disc_mb,
                                     deleted.unmeasured ? " A file that was deleted while it was mapped and "
                                                          "not open counts as all of it."
                                                        : ""));
  } else if (weight.inodes > inodes_fatal) {
    end_at_limit("inodes",
                 std::format("The job made more than {} files and folders.", spec_.limits.inodes_max));
  }
  next_weighing_ = Clock::now() + kWeighEvery;
}

// The kernel refuses what goes beyond it, and the script sees that; here it is only remembered, until the
// script has made room.
void Stay::look_at_disc() {
  evidence_.full = spec_.disc->full();
  if (evidence_.full == "disc")
    evidence_.full_words =
        std::format("The job's files took all of its {} MB of disc.", spec_.limits.disc_mb);
  if (evidence_.full == "inodes")
    evidence_.full_words =
        std::format("The job made as many files and folders as it may, {}.", spec_.limits.inodes_max);
}

// What filled the disc may have gone with the processes. The message is the job's word, about itself alone.
void Stay::note_refused_write() {
  const auto* failed = evidence_.last_word ? std::get_if<Failed>(&*evidence_.last_word) : nullptr;
  if (!evidence_.full.empty() || failed == nullptr) return;
  if (!failed->message.contains("No space left on device")) return;
  evidence_.full = "disc";
  evidence_.full_words = std::format("The job used up its {} MB of disc, or its {} files and folders.",
                                     spec_.limits.disc_mb, spec_.limits.inodes_max);
}

}  // namespace remotist::volunteer
