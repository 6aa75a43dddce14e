// Writes random programs into a folder, one a file named after its seed, for kill.R.
//
//   random_programs FOLDER FIRST_SEED COUNT
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

#include "tests/watch/program.h"

int main(int count, char** words) {
  if (count != 4) {
    std::cerr << "usage: random_programs FOLDER FIRST_SEED COUNT\n";
    return 2;
  }
  try {
    const std::filesystem::path folder = words[1];
    const std::uint64_t first = std::stoull(words[2]);
    std::filesystem::create_directories(folder);
    for (auto seed = first; seed < first + std::stoull(words[3]); ++seed) {
      std::ofstream file{folder / ("random_" + std::to_string(seed) + ".R")};
      file << remotist::volunteer::watched::random_program(seed);
      if (!file.flush()) throw std::runtime_error("a program cannot be written there");
    }
  } catch (const std::exception& error) {
    std::cerr << "random_programs: " << error.what() << '\n';
    return 1;
  }
}
