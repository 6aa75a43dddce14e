// The zygote's work: on each request of the house, one more guest that waits, in namespaces of its own, for
// what it is to run.
#pragma once

#include <string>

#include "volunteer/sandbox/order.h"
#include "volunteer/sandbox/policy.h"

namespace remotist::volunteer {

// Serves until the house is gone. In a guest's process it does not return. `missing`: what follows kReady.
void serve_house(const ZygoteOrder& order, const SeccompProgram& policy, const std::string& missing);

}  // namespace remotist::volunteer
