// Process settings of a server.
#pragma once

#include <cstddef>
#include <signal.h>
#include <string_view>

namespace remotist {

// The signals that request an orderly stop. Block them in main before any thread starts; one thread waits for
// them.
sigset_t stop_signals();

// Raises the limit of open descriptors to `wanted`; a shell's default is 1024. Where the hard limit is lower,
// uses that and logs `advice`.
void allow_descriptors(std::size_t wanted, std::string_view advice);

}  // namespace remotist
