// The frames of a guest's socket:
//
//   u32 length of the head, u32 length of the body (both little-endian), head (a JSON object), body (raw
//   bytes)
//
// Pure. The reader takes bytes in whatever pieces they come, from somebody who may be hostile: it holds no
// more than one frame of the greatest size, and once it has been told something that is no frame it stays
// broken.
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
  // Bytes after the first break are thrown away.
  void feed(std::string_view bytes);
  // The next whole frame.
  std::optional<Frame> next();
  // A length was past its limit: what follows cannot be read.
  bool broken() const { return broken_; }

 private:
  std::string held_;
  std::size_t begin_ = 0;
  bool broken_ = false;
};

}  // namespace remotist::volunteer
