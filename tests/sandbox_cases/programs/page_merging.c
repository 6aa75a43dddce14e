// Has its pages merged with equal ones of others: a slow write then tells that somebody has the same.
#include <sys/mman.h>

#include "hostile.h"

void misbehave(void) {
  void* const page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  trying("MADV_MERGEABLE");
  judged("MADV_MERGEABLE", page == MAP_FAILED ? -1 : madvise(page, 4096, MADV_MERGEABLE));
}
