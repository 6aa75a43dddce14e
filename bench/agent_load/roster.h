// The machines that agent_load plays: a file of lines "<machine id> <machine token>".
#pragma once

#include <string>
#include <vector>

#include "core/id.h"

namespace remotist::bench {

struct Lent {
  MachineId id;
  std::string token;
};

std::string line_of(const Lent& machine);  // with its newline

// Empty lines are skipped. Throws std::runtime_error that names file and line when a line is something else,
// when a machine is there twice, and when there is none.
std::vector<Lent> read_roster(const std::string& path);

}  // namespace remotist::bench
