// Writes all bytes to a descriptor, with as many calls as necessary.
#pragma once

#include <cerrno>
#include <string_view>
#include <unistd.h>

namespace remotist::volunteer {

// False, with errno, when not all could be written.
inline bool write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::write(to, bytes.data(), bytes.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

}  // namespace remotist::volunteer
