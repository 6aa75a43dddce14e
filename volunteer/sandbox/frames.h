// The frames of a guest's socket:
//
//   u32 length of the head, u32 length of the body (both little-endian), head (a JSON object), body (raw
//   bytes)
//
// Pure. The reader accepts bytes in pieces of any size from an untrusted sender. It buffers at most one frame
// of the largest size and what was fed with it, and stays broken once a length exceeds its limit.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace remotist::volunteer {

inline constexpr std::size_t kFrameHeadBytesMax = 32 << 10;
inline constexpr std::size_t kFrameBodyBytesMax = 256 << 10;

struct Frame {
  std::string head;
  std::string body{};
};

// Requires sizes within the limits.
std::string frame_bytes(std::string_view head, std::string_view body = {});

class FrameReader {
 public:
  // Ignored once broken().
  void feed(std::string_view bytes);
  // The next complete frame.
  std::optional<Frame> next();
  // A length exceeded its limit, so the stream cannot be read further.
  bool broken() const { return broken_; }

 private:
  std::string held_;
  std::size_t begin_ = 0;
  bool broken_ = false;
};

}  // namespace remotist::volunteer
