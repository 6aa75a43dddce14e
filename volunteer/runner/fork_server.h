// The zygote's loop: on each request of the agent, forks one guest into its own namespaces, which waits for
// its GuestConfig.
#pragma once

#include <string>

#include "volunteer/sandbox/launch.h"
#include "volunteer/sandbox/policy.h"

namespace remotist::volunteer {

// Sends kReady followed by `missing`, then serves until the agent closes the control socket. Does not return
// in a guest's process. Throws std::runtime_error when a guest cannot be forked. Requires one thread.
void serve_forks(const ZygoteConfig& config, const SeccompProgram& policy, const std::string& missing);

}  // namespace remotist::volunteer
