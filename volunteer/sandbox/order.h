// What the host tells a zygote when it starts it, and a guest when it takes it in. From the host alone:
// trusted.
#pragma once

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "volunteer/sandbox/guest.h"
#include "volunteer/sandbox/layers.h"

namespace remotist::volunteer {

// The descriptors that a zygote is started with.
inline constexpr int kControlDescriptor = 3;  // parcels, between the house and the zygote
inline constexpr int kGuestsDescriptor = 4;   // with Layers::own_root: the guests' folder

// What they say to each other, as the texts of parcels. The zygote answers one `more` with one `guest`, which
// comes with three descriptors: the pidfd of the guest's first process, the guest's socket, and the pipe from
// which its Farewell is read.
inline constexpr std::string_view kGo = "go";  // to the zygote: your uids are mapped
// From it: R is there. Then a line "name: why" for each defence that this machine refused it, as doctor names
// it.
inline constexpr std::string_view kReady = "ready";
inline constexpr std::string_view kMore = "more";
inline constexpr std::string_view kGuest = "guest";
inline constexpr std::string_view kFailed = "failed ";  // from it, with words; it then exits
// The first byte on a guest's socket: its first process is in its cgroup and may go on.
inline constexpr char kAdmitted = 'a';
// A later one: take a checkpoint as soon as you can.
inline constexpr char kTakeCheckpoint = 'c';

// Where things stand for a guest.
inline constexpr auto kGuestsMount = "/guests";
inline constexpr auto kWorkMount = "/work";
inline constexpr auto kOutMount = "/out";
inline constexpr auto kTmpFolder = "tmp";  // in the guest's folder: its /tmp

struct ZygoteOrder {
  Layers layers{};
  bool uid_range = false;
  // The path of the guests' folder, without Layers::own_root only: this text stays in the memory of every
  // guest, and the path tells whose machine it is.
  std::string guests{};
  bool guests_detached = false;  // kGuestsDescriptor is a detached mount
  bool memory_counted = true;    // of compile_policy()
};
std::string text_of(const ZygoteOrder& order);
ZygoteOrder zygote_order_in(std::string_view text);

struct GuestOrder {
  std::string folder;     // its name in the guests' folder, or
  bool own_disc = false;  // on a mount of its own, which comes with the order, after the pipe
  std::string exec_file;
  uid_t uid = 0;  // inside, with uid_range
  GuestLimits limits{};
  std::vector<std::string> watched{};
  bool resumable = false;
  std::int64_t checkpoint_every_ms = 0;
};
std::string text_of(const GuestOrder& order);
GuestOrder guest_order_in(std::string_view text);

// What the first process of a guest, which is ours, leaves when all others are gone.
struct Farewell {
  int wait_status;  // of the job's process
  std::int64_t cpu_us;
  std::int64_t rss_kb_peak;
};

}  // namespace remotist::volunteer
