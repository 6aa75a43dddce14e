#include "volunteer/agent/machine_software.h"

#include <doctest/doctest.h>
#include <fstream>

#include "core/limits.h"
#include "volunteer/agent/scratch_folder.h"

namespace remotist::volunteer {
namespace {

namespace fs = std::filesystem;

void install(const fs::path& library, const std::string& name, const std::string& version) {
  fs::create_directories(library / name);
  std::ofstream{library / name / "DESCRIPTION"} << "Type: Package\nPackage: " << name
                                                << "\nTitle: T\n  more\n"
                                                << "Version: " << version << "\nPriority: base\n";
}

}  // namespace

TEST_CASE("the packages of all libraries are found, the first library's version counts, and base has R's") {
  const ScratchFolder scratch;
  install(scratch.path / "site", "MASS", "7.4");
  install(scratch.path / "r", "MASS", "7.3-65");
  install(scratch.path / "r", "base", "4.5.0");
  fs::create_directories(scratch.path / "r" / "no_package");
  std::ofstream{scratch.path / "r" / "R.css"} << "x";
  const auto software =
      read_machine_software({scratch.path / "site", scratch.path / "missing", scratch.path / "r"});
  CHECK(software.r_version == "4.5.0");
  CHECK_FALSE(software.architecture.empty());
  CHECK(software.packages.size() == 2);
  CHECK(software.packages.at("MASS") == "7.4");
}

TEST_CASE("names and versions that a market would refuse are left out") {
  const ScratchFolder scratch;
  install(scratch.path, "good", "1.0-2");
  install(scratch.path, "quote\"d", "1");
  install(scratch.path, "version", "1 beta");
  const std::string longest(limits::kPackageBytesMax - 2, 'p');
  install(scratch.path, longest, "1");
  install(scratch.path, longest + "p", "1");
  const auto software = read_machine_software({scratch.path});
  CHECK(software.packages.size() == 2);
  CHECK(software.packages.contains("good"));
  CHECK(software.packages.contains(longest));
  CHECK(software.r_version.empty());
}

TEST_CASE("this machine's R is found") {
  CHECK_FALSE(read_machine_software().r_version.empty());
}

TEST_CASE("a hello has as many packages as fit into it") {
  MachineSoftware software{.r_version = "4.5.0", .architecture = "x86_64", .packages = {}};
  software.packages = {{"a", "1"}, {"b", "1"}, {"c", "1"}};
  protocol::Hello hello;
  describe(software, hello, 18);
  CHECK(hello.packages == std::vector<std::string>{"a 1", "b 1", "c 1"});
  describe(software, hello, 17);
  CHECK(hello.packages == std::vector<std::string>{"a 1", "b 1"});
  CHECK(hello.r_version == "4.5.0");
  CHECK(hello.architecture == "x86_64");
}

}  // namespace remotist::volunteer
