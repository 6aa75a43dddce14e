// What a program that serves asks of its own process.
#pragma once

#include <cstddef>
#include <signal.h>
#include <string_view>

namespace remotist {

// The signals that end it in an orderly way. Block them in main before any thread starts, so that only
// whoever waits for them sees them.
sigset_t stop_signals();

// Lets the process hold so many descriptors: a shell gives 1024 unless it is asked for more. Where the hard
// limit does not allow it, takes what there is and logs `advice`.
void allow_descriptors(std::size_t wanted, std::string_view advice);

}  // namespace remotist
