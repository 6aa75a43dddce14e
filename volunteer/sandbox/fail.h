// Throws std::system_error for a system call that failed.
#pragma once

#include <cerrno>
#include <string>
#include <system_error>

namespace remotist::volunteer {

[[noreturn]] inline void fail(const std::string& what, int error = errno) {
  throw std::system_error(error, std::generic_category(), what);
}

}  // namespace remotist::volunteer
