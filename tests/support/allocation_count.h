// Counts work by the memory that it allocates, where a time would depend on the machine.
#pragma once

#include <cstddef>
#include <functional>

namespace remotist {

// How many times `work` allocates memory in this thread.
std::size_t allocations_of(const std::function<void()>& work);

}  // namespace remotist
