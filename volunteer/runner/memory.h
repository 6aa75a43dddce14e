// Memory allocation of a process that is forked often.
#pragma once

namespace remotist::volunteer {

// In the zygote, before R allocates: malloc takes everything from one contiguous heap.
void allocate_contiguously();
// In a guest: malloc maps large vectors separately again, so that freeing them returns their memory.
void allocate_normally();

// Collapses the heap into huge pages, where the kernel can: a fork then copies, and an exit clears, a few
// dozen page table entries instead of many thousands. Takes some hundred milliseconds, once.
void collapse_heap();

}  // namespace remotist::volunteer
