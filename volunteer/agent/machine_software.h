// What this machine has for resuming checkpoints: R, its architecture and its packages.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/protocol.h"

namespace remotist::volunteer {

struct MachineSoftware {
  std::string r_version{};                                     // "4.5.0"; empty: unknown
  std::string architecture{};                                  // as R.version$arch
  std::map<std::string, std::string, std::less<>> packages{};  // name -> version
  bool operator==(const MachineSoftware&) const = default;
};

// The folders of packages that guests see, in the order in which R searches them.
std::vector<std::filesystem::path> guest_libraries(const std::filesystem::path& r_home);

// Reads the DESCRIPTION files in these folders; a package in several of them counts in the first. Folders
// that cannot be read are left out, as are names and versions that a market would refuse. Takes some ten
// milliseconds.
MachineSoftware read_machine_software(const std::vector<std::filesystem::path>& libraries);
// Of this machine.
MachineSoftware read_machine_software();

// Sets what a hello says of it. Packages that do not fit into so many bytes are left out, the last ones of
// the alphabet first.
void describe(const MachineSoftware& software, protocol::Hello& hello, std::size_t bytes_max);

}  // namespace remotist::volunteer
