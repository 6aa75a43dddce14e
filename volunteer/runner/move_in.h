// A guest's process from the moment it is told what to run until it runs it: every defence goes up on the
// way.
#pragma once

#include "volunteer/sandbox/order.h"
#include "volunteer/sandbox/policy.h"

namespace remotist::volunteer {

// Waits on the socket for a GuestOrder with the pipe for its output, sets itself up as the layers say, and
// runs the job. `proc` is an open /proc. Says Refused when something cannot be set up.
[[noreturn]] void move_in(const ZygoteOrder& house, const SeccompProgram& policy, int socket, int proc);

}  // namespace remotist::volunteer
