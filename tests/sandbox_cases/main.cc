// Runs cases under the outer guard with some protections of the sandbox off, and says a line for each:
//   KEY <tab> escaped|contained|untried <tab> description
// A case that kills this program has no line.
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sandbox_cases/case_runner.h"
#include "tests/sandbox_cases/guard.h"
#include "tests/sandbox_cases/protection_names.h"
#include "volunteer/sandbox/protection_probe.h"

namespace {

using namespace remotist::volunteer;
using namespace remotist::volunteer::cases;

constexpr auto kUsage =
    "usage: sandbox_guarded [--off PROTECTION]… [--all-off] [--real-root] KEY…\n"
    "       sandbox_guarded --probe\n"
    "Runs cases of tests/sandbox_cases with protections off, inside a container.\n"
    "--probe exits with status 77, and prints why, when this machine cannot sandbox.\n";

struct Arguments {
  Protections protections;
  GuardOptions guard;
  std::vector<std::string> keys;
};

void switch_off(Protections& protections, std::string_view name) {
  for (const auto& [known, member] : kProtections)
    if (known == name) {
      protections.*member = false;
      return;
    }
  throw std::invalid_argument{"no protection is called " + std::string{name}};
}

Arguments read_arguments(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--real-root") {
      arguments.guard.own_users = false;
    } else if (words[i] == "--all-off") {
      for (const auto& [name, member] : kProtections) arguments.protections.*member = false;
    } else if (words[i] == "--off" && i + 1 < words.size()) {
      switch_off(arguments.protections, words[++i]);
    } else {
      arguments.keys.push_back(words[i]);
    }
  }
  return arguments;
}

std::string_view judge(const CaseResult& seen) {
  if (seen.escaped()) return "escaped";
  return seen.tried() ? "contained" : "untried";
}

int run(const Arguments& arguments) {
  CanaryHost host{true};
  std::unique_ptr<CaseRunner> runner;
  for (const auto& key : arguments.keys) {
    try {
      if (runner && !runner->zygote_harm().empty()) runner.reset();
      if (!runner) runner = std::make_unique<CaseRunner>(host, arguments.protections);
      if (case_of(key).beside_neighbour) runner->start_neighbour();
      const auto seen = runner->run(key);
      auto description = seen.description();
      if (!seen.tried()) description += " log: " + seen.log.substr(0, 500);
      for (auto& letter : description)
        if (letter == '\n' || letter == '\t') letter = ' ';
      std::cout << key << '\t' << judge(seen) << '\t' << description << std::endl;
    } catch (const std::exception& error) {
      std::cout << key << "\tuntried\t" << error.what() << std::endl;
      runner.reset();
    }
  }
  return 0;
}

int probe() {
  const auto protections = probe_protections();
  if (can_sandbox(protections)) return 0;
  for (const auto& each : protections)
    if (each.required && !each.present) std::cout << each.name << ": " << each.description << ' ';
  std::cout << std::endl;
  return 77;
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count == 2 && std::string_view{words[1]} == "--probe") return probe();
    const auto arguments = read_arguments({words + 1, words + count});
    if (arguments.keys.empty()) {
      std::cerr << kUsage;
      return 2;
    }
    return run_guarded(arguments.guard, [&] {
      const int status = run(arguments);
      std::cout.flush();
      return status;
    });
  } catch (const std::exception& error) {
    std::cerr << "sandbox_guarded: " << error.what() << '\n';
    return 1;
  }
}
