// The kernel's limits on a process, for a guest.
#pragma once

#include <cstdint>

#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer {

// The three steps of memory, each above the last: what R gives out, what a process may map, what the cgroup
// holds. The first two end in an error that the script can see.
std::int64_t r_heap_mb(const GuestLimits& limits);
std::int64_t address_space_bytes(const GuestLimits& limits, std::int64_t mapped_before_bytes);
std::int64_t cgroup_memory_bytes(const GuestLimits& limits);
// Where the watcher ends a guest: the limit and a tenth.
std::int64_t disc_bytes_fatal(const GuestLimits& limits);
// The largest checkpoint: all that it may have in memory and on the disc.
std::int64_t checkpoint_bytes_max(const GuestLimits& limits);

// Sets those of this process, soft and hard. `mapped_before_bytes` is what R itself has mapped; one that is
// `resumable` writes checkpoints. False, with errno, when one is refused.
bool set_rlimits(const GuestLimits& limits, std::int64_t mapped_before_bytes, bool resumable);

// The address space of this process now; `proc` is an open /proc.
std::int64_t mapped_bytes_now(int proc);

}  // namespace remotist::volunteer
