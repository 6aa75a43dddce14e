// Limits of a guest that are set on its processes, and the sizes derived from GuestLimits.
#pragma once

#include <cstdint>

#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer {

// The three limits on memory, in ascending order: R's heap, a process's address space, the cgroup. At the
// first two the script gets an R error; at the third the kernel kills.
std::int64_t r_heap_mb(const GuestLimits& limits);
std::int64_t address_space_bytes(const GuestLimits& limits, std::int64_t mapped_before_bytes);
std::int64_t cgroup_memory_bytes(const GuestLimits& limits);
// disc_mb and a tenth: the size at which a guest is stopped.
std::int64_t disc_bytes_fatal(const GuestLimits& limits);
// The largest checkpoint: all that the job may have in memory and on disc.
std::int64_t checkpoint_bytes_max(const GuestLimits& limits);

// Sets soft and hard limits of this process. `mapped_before_bytes` is what R itself has mapped; a `resumable`
// job may write files as large as a checkpoint. False, with errno, when one is refused.
bool set_rlimits(const GuestLimits& limits, std::int64_t mapped_before_bytes, bool resumable);

// The address space of this process now; `proc` is an open /proc.
std::int64_t mapped_bytes_now(int proc);

}  // namespace remotist::volunteer
