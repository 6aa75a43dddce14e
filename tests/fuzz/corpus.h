// For unit tests: all inputs that a fuzzer starts from or once found.
#pragma once

#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace remotist::fuzz {

inline std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

// `broken_by` says what is wrong with what it tries; nothing is.
template <class BrokenBy>
void check_corpus(const char* name, BrokenBy broken_by) {
  std::size_t inputs = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator{std::string{REMOTIST_SOURCE_DIR "/tests/fuzz/corpus/"} + name}) {
    CAPTURE(entry.path().string());
    const auto bytes = file_bytes(entry.path());
    CHECK(broken_by(std::string_view{bytes}) == "");
    ++inputs;
  }
  CHECK(inputs > 3);
}

}  // namespace remotist::fuzz
