// The memory of a process that is forked often.
#pragma once

namespace remotist::volunteer {

// Before R allocates: keeps its heap in one piece. A guest calls the second, and gives the largest vectors
// back to the machine again.
void keep_heap_together();
void let_heap_spread();

// Gathers the heap into huge pages, where the kernel can: a fork then copies, and an exit then clears, a few
// dozen entries instead of many thousands. Costs some hundred milliseconds, once.
void gather_heap();

}  // namespace remotist::volunteer
