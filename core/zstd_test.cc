#include "core/zstd.h"

#include <doctest/doctest.h>
#include <zstd.h>

using namespace remotist;

namespace {

constexpr std::size_t kMax = 1 << 20;

// As a streaming encoder writes it: the size is not stated.
std::string frame_without_size(const std::string& bytes) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  frame.resize(ZSTD_compress2(context, frame.data(), frame.size(), bytes.data(), bytes.size()));
  ZSTD_freeCCtx(context);
  return frame;
}

}  // namespace

TEST_CASE("what was compressed comes back") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, kMax}) {
    std::string bytes(size, 'x');
    if (size > 0) bytes.back() = '\0';
    CHECK(zstd_decompress(zstd_compress(bytes), kMax) == bytes);
  }
}

TEST_CASE("a frame that is too large, torn, doubled, damaged or silent about its size gives nothing") {
  const std::string bytes(1000, 'x');
  const std::string frame = zstd_compress(bytes);
  CHECK(zstd_decompress(frame, 1000).has_value());
  CHECK_FALSE(zstd_decompress(frame, 999).has_value());
  CHECK_FALSE(zstd_decompress(frame.substr(0, frame.size() - 1), kMax).has_value());
  CHECK_FALSE(zstd_decompress(frame + frame, kMax).has_value());
  CHECK_FALSE(zstd_decompress(frame + "x", kMax).has_value());
  CHECK_FALSE(zstd_decompress("", kMax).has_value());
  CHECK_FALSE(zstd_decompress("no frame at all", kMax).has_value());
  CHECK_FALSE(zstd_decompress(frame_without_size(bytes), kMax).has_value());
  // A frame to be skipped: its size, then anything.
  CHECK_FALSE(zstd_decompress(std::string{"\x50\x2a\x4d\x18\x03\x00\x00\x00"
                                          "abc",
                                          11},
                              kMax)
                  .has_value());
  for (std::size_t i = 0; i < frame.size(); ++i) {
    std::string damaged = frame;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    const auto read = zstd_decompress(damaged, kMax);
    CHECK((!read || *read == bytes));  // the checksum sees it, or the bit meant nothing
  }
}
