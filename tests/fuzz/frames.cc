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

// __sanitizer_get_current_allocated_bytes() adds up the statistics of all threads and size classes: it took
// most of the time.
std::int64_t live_bytes = 0;

void count_allocation(const volatile void*, std::size_t size) {
  live_bytes += static_cast<std::int64_t>(size);
}

void count_release(const volatile void* pointer) {
  if (pointer == nullptr) return;
  live_bytes -= static_cast<std::int64_t>(__sanitizer_get_allocated_size(const_cast<const void*>(pointer)));
}

// A string takes up to twice what is in it.
void demand_bounded_memory(std::string_view bytes) {
  static const int hooks = __sanitizer_install_malloc_and_free_hooks(count_allocation, count_release);
  demand(hooks != 0, "allocations cannot be counted");
  const FramesInput input = frames_input(bytes);
  const std::int64_t before = live_bytes;
  const auto most = std::min(input.message_bytes_max, input.stream.size());
  const std::int64_t allowed = before + static_cast<std::int64_t>(3 * most + 2048);
  websocket::FrameReader reader{input.message_bytes_max};
  for (std::string_view rest = input.stream; !rest.empty();) {
    const std::size_t take = std::min(rest.size(), input.cuts[0]);
    {
      std::vector<websocket::Message> messages;
      reader.read(rest.substr(0, take), messages);
    }
    rest.remove_prefix(take);
    demand(live_bytes <= allowed, "the reader keeps more than one message");
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
