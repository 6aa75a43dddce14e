// Registers machines for agent_load over REST and gets a token for each.
#pragma once

#include <functional>

#include "bench/agent_load/machine_list.h"
#include "bench/agent_load/options.h"

namespace remotist::bench {

// Gives each machine to `made` as soon as it has its token, one at a time but from several threads. Throws
// std::runtime_error at the first that the market refuses; those given before that stay.
void make_machines(const MakeOptions& options, const std::function<void(const MachineCredentials&)>& made);

}  // namespace remotist::bench
