#include "volunteer/sandbox/frames.h"

#include <cstdint>

namespace remotist::volunteer {

namespace {

constexpr std::size_t kPrefixBytes = 8;

void put_u32(std::string& out, std::size_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>((value >> shift) & 0xff));
}

std::size_t u32_at(std::string_view bytes, std::size_t at) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  }
  return value;
}

}  // namespace

std::string frame_bytes(std::string_view head, std::string_view body) {
  std::string bytes;
  bytes.reserve(kPrefixBytes + head.size() + body.size());
  put_u32(bytes, head.size());
  put_u32(bytes, body.size());
  bytes.append(head).append(body);
  return bytes;
}

void FrameReader::feed(std::string_view bytes) {
  if (broken_) return;
  held_.erase(0, begin_);
  begin_ = 0;
  held_.append(bytes);
}

std::optional<Frame> FrameReader::next() {
  if (broken_ || held_.size() - begin_ < kPrefixBytes) return std::nullopt;
  const std::size_t head = u32_at(held_, begin_);
  const std::size_t body = u32_at(held_, begin_ + 4);
  if (head > kFrameHeadBytesMax || body > kFrameBodyBytesMax) {
    broken_ = true;
    held_.clear();
    begin_ = 0;
    return std::nullopt;
  }
  if (held_.size() - begin_ < kPrefixBytes + head + body) return std::nullopt;
  Frame frame{held_.substr(begin_ + kPrefixBytes, head), held_.substr(begin_ + kPrefixBytes + head, body)};
  begin_ += kPrefixBytes + head + body;
  return frame;
}

}  // namespace remotist::volunteer
