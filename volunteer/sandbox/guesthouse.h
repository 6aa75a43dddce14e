// Keeps a zygote, a process with R initialised in a sandbox of its own, and runs guests that are forked from
// it.
//
// Belongs to the thread that made it (the kernel ends the zygote with that thread) and never blocks it. Put
// descriptor() into that thread's poll loop and call take_events() when it is readable, and at least once a
// second: limits are watched there too.
//
// A zygote that dies is started again; its guests end as `sandbox_failure`. When the process of the
// guesthouse dies, however it dies, the zygote and every guest die with it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "volunteer/sandbox/guest.h"
#include "volunteer/sandbox/layers.h"

namespace remotist::volunteer {

struct GuesthouseOptions {
  std::filesystem::path runner;  // the program remotist-runner
  std::filesystem::path guests;  // guests' folders stand directly in here; ours alone
  std::size_t guests_max = 64;   // at once
  Layers layers{};               // which defences are up; all, but for tests
};

class Guesthouse {
 public:
  // Starts the zygote, and returns before it is ready. Throws std::runtime_error when this machine cannot
  // sandbox as asked, with words for its owner.
  explicit Guesthouse(GuesthouseOptions options);
  // Kills every guest and the zygote.
  ~Guesthouse();
  Guesthouse(const Guesthouse&) = delete;
  Guesthouse& operator=(const Guesthouse&) = delete;

  int descriptor() const;
  std::vector<Event> take_events();

  // Gives a guest that has a name, limits and watched variables a folder with an empty `work` in it: on a
  // file system of the size of its limits where this machine can make one, else among the guests' folders.
  // Called again, it leaves what is there. Any thread; takes some tens of milliseconds, unless one is left
  // from an earlier guest or was prepared. Throws std::system_error.
  void make_folder(GuestSpec& spec);
  // Makes file systems for guests with so much disc ahead. Any thread.
  void prepare_discs(std::int64_t disc_mb, std::size_t count);

  // Whether the zygote can fork now. What is started before waits for it.
  bool ready() const;
  // Defences that are not required and that this machine refused the zygote, by the names of defences.h.
  std::vector<std::string> missing() const;
  // Its end comes as an event, also when it could not begin. Takes the folder over (as root, it then belongs
  // to the guest's own uid) until Ended; remove it with remove_folder(). Requires a name that is not running
  // and fewer than guests_max guests.
  void start(GuestSpec spec);
  // Ends a guest and everything that it started, also in a loop in C, as `cancelled`. Unknown names are
  // ignored.
  void stop(std::string_view name);

  // Has a running guest take a checkpoint as soon as its script stands where it can; it comes as an event.
  // The guest must be resumable.
  void ask_checkpoint(std::string_view name);

  // CPU time of a running guest and all that it started; none when it is not running.
  std::optional<std::int64_t> cpu_ms(std::string_view name) const;
  // What the log of a running guest holds so far, bounded as in its file.
  std::string log_so_far(std::string_view name) const;

  // For tests and memory figures; 0 while there is none. A guest's is the process that runs its script; the
  // first process of its pid namespace is that one's parent.
  pid_t zygote() const;
  pid_t process_of(std::string_view name) const;

 private:
  class House;
  std::unique_ptr<House> house_;
};

// Deletes a folder of a guest with everything in it, before its GuestSpec::disc goes, whatever the guest
// left: modes, names, depths, links. Never leaves the folder. Throws std::system_error.
void remove_folder(const std::filesystem::path& folder);

}  // namespace remotist::volunteer
