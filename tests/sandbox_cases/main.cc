// Runs cases under the outer guard with some layers of the sandbox off, and says a line for each:
//   KEY <tab> escaped|contained|untried <tab> words
// A case that takes the whole test with it has no line.
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sandbox_cases/guard.h"
#include "tests/sandbox_cases/house.h"
#include "tests/sandbox_cases/layer_names.h"
#include "volunteer/sandbox/defences.h"

namespace {

using namespace remotist::volunteer;
using namespace remotist::volunteer::cases;

constexpr auto kUsage =
    "usage: sandbox_guarded [--off LAYER]… [--all-off] [--real-root] KEY…\n"
    "       sandbox_guarded --probe\n"
    "Runs cases of tests/sandbox_cases with layers of the sandbox off, where that hurts nobody.\n"
    "--probe tells whether this machine can sandbox; where it cannot, why, with status 77.\n";

struct Order {
  Layers layers;
  GuardOptions guard;
  std::vector<std::string> keys;
};

void switch_off(Layers& layers, std::string_view name) {
  for (const auto& [known, layer] : kLayers)
    if (known == name) {
      layers.*layer = false;
      return;
    }
  throw std::invalid_argument{"no layer is called " + std::string{name}};
}

Order read_order(const std::vector<std::string>& words) {
  Order order;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--real-root") {
      order.guard.own_users = false;
    } else if (words[i] == "--all-off") {
      for (const auto& [name, layer] : kLayers) order.layers.*layer = false;
    } else if (words[i] == "--off" && i + 1 < words.size()) {
      switch_off(order.layers, words[++i]);
    } else {
      order.keys.push_back(words[i]);
    }
  }
  return order;
}

std::string_view judge(const Seen& seen) {
  if (seen.escaped()) return "escaped";
  return seen.tried() ? "contained" : "untried";
}

int run(const Order& order) {
  World world{true};
  std::unique_ptr<House> house;
  for (const auto& key : order.keys) {
    try {
      if (house && !house->zygote_harm().empty()) house.reset();
      if (!house) house = std::make_unique<House>(world, order.layers);
      if (case_of(key).beside_neighbour) house->invite_neighbour();
      const auto seen = house->run(key);
      auto words = seen.words();
      if (!seen.tried()) words += " log: " + seen.log.substr(0, 500);
      for (auto& letter : words)
        if (letter == '\n' || letter == '\t') letter = ' ';
      std::cout << key << '\t' << judge(seen) << '\t' << words << std::endl;
    } catch (const std::exception& error) {
      std::cout << key << "\tuntried\t" << error.what() << std::endl;
      house.reset();
    }
  }
  return 0;
}

int probe() {
  const auto defences = probe_defences();
  if (can_sandbox(defences)) return 0;
  for (const auto& each : defences)
    if (each.required && !each.present) std::cout << each.name << ": " << each.words << ' ';
  std::cout << std::endl;
  return 77;
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count == 2 && std::string_view{words[1]} == "--probe") return probe();
    const auto order = read_order({words + 1, words + count});
    if (order.keys.empty()) {
      std::cerr << kUsage;
      return 2;
    }
    return run_guarded(order.guard, [&] {
      const int status = run(order);
      std::cout.flush();
      return status;
    });
  } catch (const std::exception& error) {
    std::cerr << "sandbox_guarded: " << error.what() << '\n';
    return 1;
  }
}
