// A guest's process from the receipt of its GuestConfig to the start of the script: puts every protection in
// place.
#pragma once

#include "volunteer/sandbox/launch.h"
#include "volunteer/sandbox/policy.h"

namespace remotist::volunteer {

// Waits on the socket for a GuestConfig with its descriptors, enters the sandbox as `zygote.protections`
// says, and runs the job. `proc` is an open /proc. Sends Refused when a protection cannot be put in place.
[[noreturn]] void enter_sandbox(const ZygoteConfig& zygote, const SeccompProgram& policy, int socket,
                                int proc);

}  // namespace remotist::volunteer
