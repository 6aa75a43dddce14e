#include "tests/sandbox_cases/suite.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <doctest/doctest.h>
#include <fstream>
#include <iostream>
#include <memory>

namespace remotist::volunteer::cases {
namespace {

struct Whole {
  World world{false};
  House house{world, Layers{}};
};

Whole& whole() {
  static Whole made;
  return made;
}

std::string answer_in(const std::filesystem::path& folder) {
  std::ifstream file{folder / kWorkFolder / "answer.txt"};
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

House& whole_house() {
  auto& all = whole();
  all.house.invite_neighbour();
  return all.house;
}

Seen holds(std::string_view key) {
  auto& house = whole_house();
  const auto& what = case_of(key);
  auto seen = house.run(what);
  INFO(key << ": " << seen.words());
  CAPTURE(seen.log.substr(0, 1000));
  CHECK(seen.tried());
  CHECK_FALSE(seen.escaped());
  CHECK(std::ranges::contains(what.endings, seen.ending()));
  if (what.cancel) {
    CHECK(seen.cancelled < std::chrono::seconds{10});
    std::cout << key << " was cancelled in " << seen.cancelled.count() << " ms" << std::endl;
  }
  const auto after = house.run("plain");
  INFO("the plain guest after it: " << after.words());
  CHECK(after.ending() == "completed");
  CHECK(answer_in(after.folder) == "500500");
  return seen;
}

void neighbour_is_well() {
  CHECK(whole_house().dismiss_neighbour() == "");
}

std::string r_says(const std::filesystem::path& folder, const std::string& expression) {
  const auto command = "cd '" + folder.string() + "' && Rscript --vanilla -e '" + expression + "' 2>&1";
  std::string said;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe{popen(command.c_str(), "re"), pclose};
  std::array<char, 512> piece{};
  while (pipe && fgets(piece.data(), piece.size(), pipe.get()) != nullptr) said += piece.data();
  return said;
}

}  // namespace remotist::volunteer::cases
