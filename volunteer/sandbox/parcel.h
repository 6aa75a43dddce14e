// A short text and a few descriptors, sent together over a Unix socket that keeps messages apart.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {

struct Parcel {
  std::string text;
  std::vector<Descriptor> descriptors;
};

inline constexpr std::size_t kParcelBytesMax = 64 << 10;
inline constexpr std::size_t kParcelDescriptorsMax = 8;

// Whether it went whole. False, with errno, when the other side is gone or its buffer is full.
bool send_parcel(int socket, std::string_view text, std::span<const int> descriptors = {});

// The next one; none, with errno, when there is none (EAGAIN) or the other side is gone (0). What is longer
// than it may be is refused (EMSGSIZE).
std::optional<Parcel> receive_parcel(int socket);

}  // namespace remotist::volunteer
