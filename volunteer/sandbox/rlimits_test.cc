#include "volunteer/sandbox/rlimits.h"

#include <doctest/doctest.h>

#include "core/limits.h"

using namespace remotist;
using namespace remotist::volunteer;

TEST_CASE("R's limit is below the address space, and that below the cgroup, for every amount of memory") {
  for (std::int64_t ram_mb = limits::kRamMbMin; ram_mb <= limits::kRamMbMax; ram_mb *= 2) {
    GuestLimits guest;
    guest.ram_mb = ram_mb;
    const auto heap = r_heap_mb(guest) << 20;
    CHECK(heap < address_space_bytes(guest, 0));
    CHECK(address_space_bytes(guest, 0) < cgroup_memory_bytes(guest));
  }
}

TEST_CASE("the disc's fatal limit is a tenth above the limit") {
  GuestLimits guest;
  guest.disc_mb = 100;
  CHECK(disc_bytes_fatal(guest) == 110LL << 20);
}
