#include "volunteer/sandbox/output_marker.h"

#include <algorithm>
#include <utility>

namespace remotist::volunteer {

namespace {

constexpr std::size_t kNumberBytes = 8;

}  // namespace

std::string output_marker(std::string_view prefix, std::uint64_t number) {
  std::string marker{prefix};
  for (std::size_t i = 0; i < kNumberBytes; ++i) marker += static_cast<char>((number >> (8 * i)) & 0xff);
  return marker;
}

void OutputMarkers::feed(std::string_view bytes, const std::function<void(std::string_view)>& text,
                         const std::function<void(std::uint64_t)>& marker) {
  if (prefix_.empty()) return text(bytes);
  std::string joined;
  if (!held_.empty()) {
    joined = std::exchange(held_, {});
    joined += bytes;
    bytes = joined;
  }
  for (auto at = bytes.find(prefix_); at != std::string_view::npos; at = bytes.find(prefix_)) {
    if (bytes.size() - at < prefix_.size() + kNumberBytes) break;
    if (at > 0) text(bytes.substr(0, at));
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < kNumberBytes; ++i)
      number |= std::uint64_t{static_cast<unsigned char>(bytes[at + prefix_.size() + i])} << (8 * i);
    marker(number);
    bytes.remove_prefix(at + prefix_.size() + kNumberBytes);
  }
  // The longest end that may become a marker.
  std::size_t end = std::min(bytes.size(), prefix_.size() + kNumberBytes - 1);
  while (end > 0) {
    const auto known = std::min(end, prefix_.size());
    if (bytes.substr(bytes.size() - end, known) == std::string_view(prefix_).substr(0, known)) break;
    --end;
  }
  held_ = bytes.substr(bytes.size() - end);
  bytes.remove_suffix(end);
  if (!bytes.empty()) text(bytes);
}

}  // namespace remotist::volunteer
