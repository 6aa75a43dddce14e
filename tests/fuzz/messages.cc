// libFuzzer: a stranger's text as a message from an agent and from a market (script/test fuzz).
#include "tests/fuzz/messages.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string broken = remotist::fuzz::messages_broken_by({reinterpret_cast<const char*>(data), size});
  if (!broken.empty()) {
    std::fprintf(stderr, "messages: %s\n", broken.c_str());
    std::abort();
  }
  return 0;
}
