// One guest from start() to Ended, as its host sees it: its folder, its descriptors, its limits, its words.
//
// Belongs to one thread and never blocks it. The house tells it when a descriptor is readable.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "volunteer/sandbox/budget.h"
#include "volunteer/sandbox/cgroup.h"
#include "volunteer/sandbox/descriptor.h"
#include "volunteer/sandbox/folder.h"
#include "volunteer/sandbox/frames.h"
#include "volunteer/sandbox/guest.h"
#include "volunteer/sandbox/layers.h"
#include "volunteer/sandbox/look_budget.h"
#include "volunteer/sandbox/memory_use.h"
#include "volunteer/sandbox/output_log.h"
#include "volunteer/sandbox/tree_clock.h"
#include "volunteer/sandbox/uids.h"
#include "volunteer/sandbox/verdict.h"

namespace remotist::volunteer {

// A forked guest that waits for its order.
struct Lodging {
  pid_t process = -1;  // its first
  Descriptor pidfd;
  Descriptor socket;
  Descriptor farewell;
  std::unique_ptr<Cgroup> cgroup;
};

class Stay {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Takes the folder over. Throws std::system_error when it is not what a guest's folder must be.
  Stay(GuestSpec spec, std::size_t slot, const Uids& uids, const Layers& layers);

  const GuestSpec& spec() const { return spec_; }
  std::size_t slot() const { return slot_; }
  bool inside() const { return lodging_.process > 0; }
  const Lodging& lodging() const { return lodging_; }
  int output() const { return output_.get(); }

  // Sends it in. Throws std::system_error when the lodging is gone.
  void enter(Lodging lodging);

  // Each when its descriptor is readable; what it says is appended to events.
  void hear(std::vector<Event>& events);
  // False: it printed more than it may for now; ask again at the next watch().
  bool listen();
  void farewell();
  // Once in a while: measures and enforces the limits, and lets go what was held back. False: there was not
  // time enough for all that had to be looked at.
  bool watch(std::vector<Event>& events, LookBudget& looks);

  // Ends it as cancelled.
  void stop();
  void ask_checkpoint();
  void zygote_lost() { evidence_.zygote_lost = true; }

  // Nothing of it runs any more.
  bool over() const { return over_; }
  void all_gone() { over_ = true; }
  // Requires over(). False: its first process died and neither the guest nor the host had a part in it.
  bool explained() const;
  // Requires over(). Whether nothing of the job ran, so that it can be sent in once more; step_back() makes
  // it ready for that and gives the lodging back.
  bool untouched();
  Lodging step_back();
  // Requires over(), or that it never was inside. Leaves the log. What it said last goes to events first.
  Ended end(std::vector<Event>& events, const std::string& never_entered = {});
  Lodging leave() { return std::move(lodging_); }

  // As it was at the last watch().
  std::int64_t cpu_ms() const { return cpu_ms_seen_; }
  std::string log_so_far() const { return log_.text(); }

 private:
  void take_word(const Word& word, std::string body, std::vector<Event>& events);
  void take_change(const Changed& word, std::string body, std::vector<Event>& events);
  void take_checkpoint(std::vector<Event>& events);
  void end_at_limit(const char* limit, std::string words);
  void kill();
  void refuse(const std::string& words);
  void drain();
  bool watch_limits(LookBudget& looks);
  bool watch_memory(LookBudget& looks);
  bool counted_by_cgroup() const;
  void count_cpu();
  void watch_disc();
  void look_at_disc();
  void note_refused_write();
  void prepare_folder();
  void reserve_log() const;
  bool keep_if_file(const char* name) const;
  void write_log() const;

  static constexpr std::chrono::milliseconds kLookEvery{500};
  static constexpr std::chrono::milliseconds kWeighEvery{50};

  GuestSpec spec_;
  std::size_t slot_;
  Uids uids_;
  Layers layers_;
  Descriptor folder_;
  FolderState before_;
  Lodging lodging_;
  Descriptor output_;
  OutputLog log_;
  FrameReader frames_;
  Budget frame_budget_;
  Budget byte_budget_;
  Budget progress_budget_;
  Budget output_budget_;
  Budget value_budget_;                 // bytes of watched values in files
  std::vector<std::uint64_t> records_;  // of each watched variable so far
  std::vector<Event> late_;             // said before its end, heard after it
  std::optional<Progress> held_progress_;
  Evidence evidence_;
  std::int64_t cpu_ms_before_ = 0;
  std::int64_t cpu_ms_seen_ = 0;
  TreeClock tree_clock_;  // where no cgroup counts
  std::int64_t ram_kb_peak_ = 0;
  MemoryLook memory_look_;
  Time started_;
  Time next_look_;
  Time next_weighing_;
  int next_kind_ = 0;  // of look: CPU time, memory, disc
  bool over_ = false;
  Steps steps_;
};

}  // namespace remotist::volunteer
