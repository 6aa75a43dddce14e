// Markers in a guest's output: at a checkpoint the runner writes one to the pipe of stdout and stderr, so
// that the host knows which output came before it. Pure.
//
// A marker is a prefix, random for each guest, and the checkpoint's number (u64, little-endian). It is
// written at once and is shorter than PIPE_BUF, so no other output is within it. The output is untrusted: a
// job that finds out its prefix can forge markers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace remotist::volunteer {

inline constexpr std::size_t kOutputMarkerBytes = 16;  // of the prefix

std::string output_marker(std::string_view prefix, std::uint64_t number);

// Takes the markers out of an output that comes in pieces of any size.
class OutputMarkers {
 public:
  // Nothing is a marker without a prefix.
  explicit OutputMarkers(std::string prefix) : prefix_(std::move(prefix)) {}

  // Calls `text` and `marker` in the order of the output. Holds back what may be the beginning of a marker,
  // less than a marker's length.
  void feed(std::string_view bytes, const std::function<void(std::string_view)>& text,
            const std::function<void(std::uint64_t)>& marker);
  // What is held back is no marker: the output has ended.
  std::string take_rest() { return std::exchange(held_, {}); }

 private:
  std::string prefix_;
  std::string held_;
};

}  // namespace remotist::volunteer
