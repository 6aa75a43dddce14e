// Maps memory from the host's pool of huge pages, which no limit on memory counts.
#include <sys/mman.h>

#include "hostile.h"

void misbehave(void) {
  trying("MAP_HUGETLB");
  // Not reserved: the mapping is made also where the pool is empty.
  void* const memory = mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
  judged("a mapping of huge pages", memory == MAP_FAILED ? -1 : 0);
}
