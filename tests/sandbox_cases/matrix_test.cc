// Which protection contains which case. All cases here run under the outer guard.
#include <algorithm>
#include <atomic>
#include <doctest/doctest.h>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

#include "tests/sandbox_cases/case.h"
#include "tests/sandbox_cases/guarded_run.h"
#include "tests/sandbox_cases/protection_names.h"

namespace remotist::volunteer::cases {
namespace {

struct Need {
  std::string_view protection;
  std::vector<std::string_view> keys;  // each escapes when this protection alone is off
  bool root_only = false;              // absent for an ordinary user's agent
};

bool as_root() {
  return getuid() == 0;
}

const std::vector<Need>& needs() {
  static const std::vector<Need> all{
      {.protection = "own_root", .keys = {"absolute_path", "unix_socket"}},
      {.protection = "own_inodes", .keys = {"lock_host"}},
      {.protection = "own_processes", .keys = {"see_processes"}},
      {.protection = "own_network", .keys = {"abstract_socket"}},
      {.protection = "own_ipc", .keys = {"host_name"}},
      {.protection = "own_time", .keys = {"uptime"}},
      {.protection = "own_uid", .keys = {as_root() ? "become_root" : "crowd_out"}},
      {.protection = "no_privileges", .keys = {"privileges"}},
      {.protection = "seccomp", .keys = {"keyctl", "namespaces"}},
      {.protection = "rlimits", .keys = {"descriptors", "sparse_file"}},
      {.protection = "cgroup", .keys = {"memory_sockets"}, .root_only = true},
      {.protection = "disc_limit", .keys = {"disc", "inodes", "deleted_mapped"}},
      {.protection = "frame_budget", .keys = {"flood"}},
  };
  return all;
}

std::vector<std::string> named_keys() {
  std::vector<std::string> keys;
  for (const auto& need : needs())
    if (!need.root_only || as_root()) keys.insert(keys.end(), need.keys.begin(), need.keys.end());
  return keys;
}

struct Run {
  std::string name;
  std::vector<std::string> options;
  std::vector<std::string> keys;
  std::map<std::string, Outcome> outcomes{};
};

std::vector<Run> all_runs() {
  std::vector<Run> runs;
  std::vector<std::string> together;
  for (const auto& each : all_cases()) {
    if (each.unguarded == Unguarded::held_by_host) continue;
    const std::string key{each.key};
    if (each.ends_everything) {
      runs.push_back({"all", {"--all-off"}, {key}});
    } else if (each.needs_real_root && as_root()) {
      runs.push_back({"all", {"--all-off", "--real-root"}, {key}});
    } else {
      together.push_back(key);
    }
  }
  // In parallel batches: the cases mostly wait.
  constexpr std::size_t kTogether = 12;
  for (std::size_t i = 0; i < together.size(); i += kTogether)
    runs.push_back(
        {"all",
         {"--all-off"},
         {together.begin() + static_cast<std::ptrdiff_t>(i),
          together.begin() + static_cast<std::ptrdiff_t>(std::min(i + kTogether, together.size()))}});
  runs.push_back({"none", {}, named_keys()});
  for (const auto& need : needs())
    if (!need.root_only || as_root())
      runs.push_back({std::string{need.protection}, {"--off", std::string{need.protection}}, named_keys()});
  return runs;
}

// All outcomes, by the protection that was off. Computed once, with a few processes in parallel.
const std::map<std::string, std::map<std::string, Outcome>>& outcomes() {
  static const auto all = [] {
    auto runs = all_runs();
    std::atomic<std::size_t> next{0};
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
          for (std::size_t at = 0; (at = next++) < runs.size();)
            runs[at].outcomes = run_guarded_cases(runs[at].options, runs[at].keys);
        });
    }
    std::map<std::string, std::map<std::string, Outcome>> found;
    for (auto& run : runs) found[run.name].merge(run.outcomes);
    return found;
  }();
  return all;
}

bool escaped(const std::string& off, std::string_view key) {
  const auto& outcome = outcomes().at(off).at(std::string{key});
  // A case that kills the test leaves no line.
  return outcome.result == "escaped" || (case_of(key).ends_everything && outcome.result == "gone");
}

std::string protections_table() {
  std::ostringstream text;
  const auto keys = named_keys();
  text << "With one protection off (rows), which cases escape (columns)?\n\n";
  for (std::size_t i = 0; i < keys.size(); ++i) {
    text << std::setw(18) << "";
    for (std::size_t j = 0; j < i; ++j) text << "| ";
    text << ",-" << keys[i] << '\n';
  }
  for (const auto& need : needs()) {
    text << std::left << std::setw(18) << need.protection;
    if (need.root_only && !as_root()) {
      text << "(for a root agent)\n";
      continue;
    }
    for (const auto& key : keys) text << (escaped(std::string{need.protection}, key) ? "X " : ". ");
    text << '\n';
  }
  text << std::left << std::setw(18) << "(none)";
  for (const auto& key : keys) text << (escaped("none", key) ? "X " : ". ");
  text << "\n\n";
  return text.str();
}

std::string cases_table() {
  std::ostringstream text;
  text << "With every protection off, which cases escape?\n"
          "  X: escapes; k: the kernel refuses it to this user in any case; -: contained by code without a "
          "switch\n\n";
  for (const auto group : {Group::files, Group::network, Group::resources, Group::kernel, Group::processes,
                           Group::protocol, Group::r}) {
    text << name_of(group) << '\n';
    for (const auto& each : all_cases()) {
      if (each.group != group) continue;
      const bool held = each.unguarded == Unguarded::held_by_host;
      const char mark = held ? '-' : escaped("all", each.key) ? 'X' : 'k';
      text << "  " << mark << ' ' << std::left << std::setw(22) << each.key;
      if (mark != 'X') text << each.why;
      text << '\n';
    }
  }
  return text.str();
}

}  // namespace

TEST_CASE("every protection has a case that needs it") {
  for (const auto& [name, member] : kProtections)
    CHECK(std::ranges::contains(needs(), name, &Need::protection));
}

TEST_CASE("with every protection on, the cases of the matrix are contained under the guard, too") {
  for (const auto& [key, outcome] : outcomes().at("none")) {
    INFO(key << ": " << outcome.description);
    CHECK(outcome.result == "contained");
  }
}

TEST_CASE("each protection is necessary: with it alone off, its cases escape") {
  for (const auto& need : needs()) {
    if (need.root_only && !as_root()) continue;
    for (const auto& key : need.keys) {
      INFO("without " << need.protection << ", " << key << ": "
                      << outcomes().at(std::string{need.protection}).at(std::string{key}).description);
      CHECK(escaped(std::string{need.protection}, key));
    }
  }
}

TEST_CASE("with every protection off each case escapes, except those contained by code without a switch") {
  for (const auto& each : all_cases()) {
    if (each.unguarded == Unguarded::held_by_host) continue;
    const auto& outcome = outcomes().at("all").at(std::string{each.key});
    INFO("without a sandbox, " << each.key << ": " << outcome.description);
    if (each.unguarded == Unguarded::escapes) {
      CHECK(escaped("all", each.key));
    } else {
      CHECK(outcome.result != "untried");
    }
  }
}

TEST_CASE("the matrix of protections and cases") {
  std::cout << "\nThe matrix, as " << (as_root() ? "root" : "an ordinary user") << "\n\n"
            << protections_table() << cases_table() << std::endl;
}

}  // namespace remotist::volunteer::cases
