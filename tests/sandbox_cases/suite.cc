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

struct Shared {
  CanaryHost host{false};
  CaseRunner runner{host, Protections{}};
};

Shared& shared() {
  static Shared made;
  return made;
}

std::string answer_in(const std::filesystem::path& folder) {
  std::ifstream file{folder / kWorkFolder / "answer.txt"};
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

CaseRunner& shared_runner() {
  auto& runner = shared().runner;
  runner.start_neighbour();
  return runner;
}

CaseResult check_contained(std::string_view key) {
  auto& runner = shared_runner();
  const auto& what = case_of(key);
  auto seen = runner.run(what);
  INFO(key << ": " << seen.description());
  CAPTURE(seen.log.substr(0, 1000));
  CHECK(seen.tried());
  CHECK_FALSE(seen.escaped());
  CHECK(std::ranges::contains(what.endings, seen.ending()));
  if (what.cancel) {
    CHECK(seen.cancelled < std::chrono::seconds{10});
    std::cout << key << " was cancelled in " << seen.cancelled.count() << " ms" << std::endl;
  }
  const auto after = runner.run("plain");
  INFO("the plain guest after it: " << after.description());
  CHECK(after.ending() == "completed");
  CHECK(answer_in(after.folder) == "500500");
  return seen;
}

void check_neighbour() {
  CHECK(shared_runner().finish_neighbour() == "");
}

std::string r_output(const std::filesystem::path& folder, const std::string& expression) {
  const auto command = "cd '" + folder.string() + "' && Rscript --vanilla -e '" + expression + "' 2>&1";
  std::string output;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe{popen(command.c_str(), "re"), pclose};
  std::array<char, 512> piece{};
  while (pipe && fgets(piece.data(), piece.size(), pipe.get()) != nullptr) output += piece.data();
  return output;
}

}  // namespace remotist::volunteer::cases
