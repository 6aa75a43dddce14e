// Runs a function in a child process, for tests that change their own process irrevocably (mounts, filters).
#pragma once

#include <array>
#include <exception>
#include <fcntl.h>
#include <functional>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace remotist::volunteer::cases {

inline void must(bool done, const char* what) {
  if (!done) throw std::runtime_error{what};
}

// The function's result, or the message of its exception.
inline std::string in_child(const std::function<std::string()>& what) {
  std::array<int, 2> ends{};
  must(::pipe2(ends.data(), O_CLOEXEC) == 0, "pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text;
    try {
      text = what();
    } catch (const std::exception& error) {
      text = error.what();
    }
    _exit(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string output;
  std::array<char, 4096> piece{};
  for (ssize_t got = 0; (got = ::read(ends[0], piece.data(), piece.size())) > 0;)
    output.append(piece.data(), static_cast<std::size_t>(got));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return output;
}

}  // namespace remotist::volunteer::cases
