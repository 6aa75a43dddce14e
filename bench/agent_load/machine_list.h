// The machines that agent_load simulates: a file of lines "<machine id> <machine token>".
#pragma once

#include <string>
#include <vector>

#include "core/id.h"

namespace remotist::bench {

struct MachineCredentials {
  MachineId id;
  std::string token;
};

std::string line_of(const MachineCredentials& machine);  // with its newline

// Empty lines are skipped. Throws std::runtime_error that names file and line when a line is malformed, when
// a machine occurs twice, and when there is none.
std::vector<MachineCredentials> read_machine_list(const std::string& path);

}  // namespace remotist::bench
