// libFuzzer: bytes of a stranger, cut anywhere, into the frame reader (script/test fuzz).
#include "tests/fuzz/frames.h"

#include <cstdio>
#include <cstdlib>
#include <sanitizer/allocator_interface.h>

namespace remotist::fuzz {
namespace {

void demand(bool holds, const std::string& broken) {
  if (holds) return;
  std::fprintf(stderr, "frames: %s\n", broken.c_str());
  std::abort();
}

// A string takes up to twice what is in it, and the sanitizer adds its own to every piece.
void demand_bounded_memory(std::string_view bytes) {
  const FramesInput input = frames_input(bytes);
  const std::size_t before = __sanitizer_get_current_allocated_bytes();
  const std::size_t allowed = before + 3 * std::min(input.message_bytes_max, input.stream.size()) + 2048;
  websocket::FrameReader reader{input.message_bytes_max};
  for (std::string_view rest = input.stream; !rest.empty();) {
    const std::size_t take = std::min(rest.size(), input.cuts[0]);
    {
      std::vector<websocket::Message> messages;
      reader.read(rest.substr(0, take), messages);
    }
    rest.remove_prefix(take);
    demand(__sanitizer_get_current_allocated_bytes() <= allowed, "the reader keeps more than one message");
  }
}

}  // namespace
}  // namespace remotist::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  const std::string broken = remotist::fuzz::frames_broken_by(bytes);
  remotist::fuzz::demand(broken.empty(), broken);
  remotist::fuzz::demand_bounded_memory(bytes);
  return 0;
}
