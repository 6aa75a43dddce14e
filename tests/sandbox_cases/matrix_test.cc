// Which defence holds which case. Everything here runs under the outer guard.
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
#include "tests/sandbox_cases/layer_names.h"

namespace remotist::volunteer::cases {
namespace {

struct Need {
  std::string_view layer;
  std::vector<std::string_view> keys;  // each escapes when this layer alone is off
  bool root_only = false;              // an ordinary user's sandbox does not have it, or not as a switch
};

bool as_root() {
  return getuid() == 0;
}

const std::vector<Need>& needs() {
  static const std::vector<Need> all{
      {.layer = "own_root", .keys = {"absolute_path", "unix_socket"}},
      {.layer = "own_inodes", .keys = {"lock_host"}},
      {.layer = "own_processes", .keys = {"see_processes"}},
      {.layer = "own_network", .keys = {"abstract_socket"}},
      {.layer = "own_ipc", .keys = {"host_name"}},
      {.layer = "own_time", .keys = {"uptime"}},
      {.layer = "own_uid", .keys = {as_root() ? "become_root" : "crowd_out"}},
      {.layer = "no_privileges", .keys = {"privileges"}},
      {.layer = "seccomp", .keys = {"keyctl", "namespaces"}},
      {.layer = "rlimits", .keys = {"descriptors", "sparse_file"}},
      {.layer = "cgroup", .keys = {"memory_sockets"}, .root_only = true},
      {.layer = "disc_limit", .keys = {"disc", "inodes", "deleted_mapped"}},
      {.layer = "frame_budget", .keys = {"flood"}},
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
  // Some at a time: their cases wait more than they compute.
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
      runs.push_back({std::string{need.layer}, {"--off", std::string{need.layer}}, named_keys()});
  return runs;
}

// Everything that the matrix is made of, by what was off. Run once, a few at a time.
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

bool got_out(const std::string& off, std::string_view key) {
  const auto& outcome = outcomes().at(off).at(std::string{key});
  // What takes the test with it leaves nobody who could say so.
  return outcome.result == "escaped" || (case_of(key).ends_everything && outcome.result == "gone");
}

std::string first_part() {
  std::ostringstream text;
  const auto keys = named_keys();
  text << "With one defence off (rows), which cases escape (columns)?\n\n";
  for (std::size_t i = 0; i < keys.size(); ++i) {
    text << std::setw(18) << "";
    for (std::size_t j = 0; j < i; ++j) text << "| ";
    text << ",-" << keys[i] << '\n';
  }
  for (const auto& need : needs()) {
    text << std::left << std::setw(18) << need.layer;
    if (need.root_only && !as_root()) {
      text << "(for a root agent)\n";
      continue;
    }
    for (const auto& key : keys) text << (got_out(std::string{need.layer}, key) ? "X " : ". ");
    text << '\n';
  }
  text << std::left << std::setw(18) << "(none)";
  for (const auto& key : keys) text << (got_out("none", key) ? "X " : ". ");
  text << "\n\n";
  return text.str();
}

std::string second_part() {
  std::ostringstream text;
  text << "With the whole sandbox off, which escape?\n"
          "  X: escapes; k: this kernel refuses it to this user, sandbox or not; -: no switch holds it, but "
          "the\n"
          "  host's own code in any case, or R\n\n";
  for (const auto group : {Group::files, Group::network, Group::resources, Group::kernel, Group::processes,
                           Group::protocol, Group::r}) {
    text << name_of(group) << '\n';
    for (const auto& each : all_cases()) {
      if (each.group != group) continue;
      const bool held = each.unguarded == Unguarded::held_by_host;
      const char mark = held ? '-' : got_out("all", each.key) ? 'X' : 'k';
      text << "  " << mark << ' ' << std::left << std::setw(22) << each.key;
      if (mark != 'X') text << each.why;
      text << '\n';
    }
  }
  return text.str();
}

}  // namespace

TEST_CASE("every switch of the sandbox has a case that needs it") {
  for (const auto& [name, layer] : kLayers) CHECK(std::ranges::contains(needs(), name, &Need::layer));
}

TEST_CASE(
    "under the guard and with the whole sandbox, the cases that the defences are named for are contained") {
  for (const auto& [key, outcome] : outcomes().at("none")) {
    INFO(key << ": " << outcome.words);
    CHECK(outcome.result == "contained");
  }
}

TEST_CASE("each defence is necessary: with it alone off, a case escapes") {
  for (const auto& need : needs()) {
    if (need.root_only && !as_root()) continue;
    for (const auto& key : need.keys) {
      INFO("without " << need.layer << ", " << key << ": "
                      << outcomes().at(std::string{need.layer}).at(std::string{key}).words);
      CHECK(got_out(std::string{need.layer}, key));
    }
  }
}

TEST_CASE("each case escapes when the whole sandbox is off, but for those that no switch holds") {
  for (const auto& each : all_cases()) {
    if (each.unguarded == Unguarded::held_by_host) continue;
    const auto& outcome = outcomes().at("all").at(std::string{each.key});
    INFO("without a sandbox, " << each.key << ": " << outcome.words);
    if (each.unguarded == Unguarded::escapes) {
      CHECK(got_out("all", each.key));
    } else {
      CHECK(outcome.result != "untried");
    }
  }
}

TEST_CASE("the matrix of defences and cases") {
  std::cout << "\nThe matrix, as " << (as_root() ? "root" : "an ordinary user") << "\n\n"
            << first_part() << second_part() << std::endl;
}

}  // namespace remotist::volunteer::cases
