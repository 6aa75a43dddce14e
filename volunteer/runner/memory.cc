#include "volunteer/runner/memory.h"

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <malloc.h>
#include <string>
#include <sys/mman.h>

namespace remotist::volunteer {

namespace {

constexpr std::uintptr_t kHugePage = 2 << 20;
constexpr int kCollapse = 25;  // MADV_COLLAPSE, Linux 6.1
// The value that malloc's dynamic threshold reaches in a process that has freed large blocks. With a smaller
// one, freed memory is returned and cleared by the kernel again and again.
constexpr int kThresholdMost = 32 << 20;
constexpr int kUsualPad = 128 << 10;
constexpr int kWideThreshold = 1 << 30;

}  // namespace

void allocate_contiguously() {
  ::mallopt(M_MMAP_THRESHOLD, kWideThreshold);
  ::mallopt(M_TOP_PAD, kHugePage);
}

void allocate_normally() {
  ::mallopt(M_MMAP_THRESHOLD, kThresholdMost);
  ::mallopt(M_TRIM_THRESHOLD, 2 * kThresholdMost);
  ::mallopt(M_TOP_PAD, kUsualPad);
}

void collapse_heap() {
  std::ifstream maps{"/proc/self/maps"};
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char rights[5] = {};
    unsigned long offset = 0;
    unsigned long inode = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %lu", &begin, &end, rights, &offset, &inode) != 5)
      continue;
    if (std::string(rights) != "rw-p" || inode != 0 || line.ends_with("[stack]")) continue;
    begin = (begin + kHugePage - 1) & ~(kHugePage - 1);
    end &= ~(kHugePage - 1);
    for (; begin < end; begin += kHugePage) ::madvise(reinterpret_cast<void*>(begin), kHugePage, kCollapse);
  }
}

}  // namespace remotist::volunteer
