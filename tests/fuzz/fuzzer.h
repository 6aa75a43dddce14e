// How a reader that is tried tells the fuzzer what is wrong with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace remotist::fuzz {

inline void demand(const char* name, const std::string& broken) {
  if (broken.empty()) return;
  std::fprintf(stderr, "%s: %s\n", name, broken.c_str());
  std::abort();
}

}  // namespace remotist::fuzz

// NAME.cc is this alone: libFuzzer calls what NAME.h says of the bytes.
#define REMOTIST_FUZZ(name)                                                                                \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {                      \
    remotist::fuzz::demand(#name,                                                                          \
                           remotist::fuzz::name##_broken_by({reinterpret_cast<const char*>(data), size})); \
    return 0;                                                                                              \
  }
