// For tests: a folder that is gone afterwards.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace remotist::volunteer {

struct ScratchFolder {
  ScratchFolder() {
    std::string pattern = "/tmp/remotist-unit-XXXXXX";
    path = ::mkdtemp(pattern.data());
  }
  ~ScratchFolder() { std::filesystem::remove_all(path); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::filesystem::path path;
};

}  // namespace remotist::volunteer
