#include "bench/agent_load/machine_list.h"

#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace remotist::bench {

std::string line_of(const MachineCredentials& machine) {
  return machine.id.text() + " " + machine.token + "\n";
}

std::vector<MachineCredentials> read_machine_list(const std::string& path) {
  std::ifstream file{path};
  if (!file) throw std::runtime_error{"cannot read " + path + ": --machines needs a file that is there"};
  std::vector<MachineCredentials> machines;
  std::set<MachineId> seen;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty()) continue;
    const auto where = path + ":" + std::to_string(number) + ": ";
    std::istringstream words{line};
    std::string id_text;
    std::string token;
    std::string rest;
    words >> id_text >> token;
    const auto id = MachineId::parse(id_text);
    if (!id || token.empty() || words >> rest) {
      throw std::runtime_error{where + "a line is a machine's id and its token, with a space between"};
    }
    // The second would throw the first off its socket, and the first the second, without end.
    if (!seen.insert(*id).second) throw std::runtime_error{where + "this machine is in the file already"};
    machines.push_back({*id, token});
  }
  if (machines.empty())
    throw std::runtime_error{path + " names no machine: make some with `agent_load make`"};
  return machines;
}

}  // namespace remotist::bench
