// A short text with descriptors, sent over a Unix socket that preserves message boundaries.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer {

struct FdMessage {
  std::string text;
  std::vector<Descriptor> descriptors;
};

inline constexpr std::size_t kFdMessageBytesMax = 64 << 10;
inline constexpr std::size_t kFdMessageDescriptorsMax = 8;

// Whether all of it was sent. False, with errno, when the peer is gone or its buffer is full.
bool send_fd_message(int socket, std::string_view text, std::span<const int> descriptors = {});

// The next message. None, with errno: EAGAIN when there is none, 0 when the peer is gone, EMSGSIZE when it
// was longer than the limits.
std::optional<FdMessage> receive_fd_message(int socket);

}  // namespace remotist::volunteer
