#include "core/zstd.h"

#include <memory>
#include <stdexcept>
#include <zstd.h>

namespace remotist {
namespace {

constexpr std::string_view kMagic{"\x28\xb5\x2f\xfd"};  // ZSTD_MAGICNUMBER, little-endian
static_assert(ZSTD_MAGICNUMBER == 0xFD2FB528);

// Contexts are large and cost more to make than to use: each thread keeps its own.
ZSTD_CCtx* compressor() {
  thread_local const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> own{ZSTD_createCCtx(),
                                                                              &ZSTD_freeCCtx};
  return own.get();
}
ZSTD_DCtx* decompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> own{ZSTD_createDCtx(),
                                                                              &ZSTD_freeDCtx};
  return own.get();
}

}  // namespace

std::string zstd_compress(std::string_view bytes, int level) {
  auto* const context = compressor();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string frame;
  std::size_t size = 0;
  frame.resize_and_overwrite(ZSTD_compressBound(bytes.size()), [&](char* into, std::size_t room) {
    size = ZSTD_compress2(context, into, room, bytes.data(), bytes.size());
    return ZSTD_isError(size) ? 0 : size;
  });
  if (ZSTD_isError(size)) throw std::runtime_error{std::string{"zstd: "} + ZSTD_getErrorName(size)};
  return frame;
}

std::optional<std::string> zstd_decompress(std::string_view frame, std::size_t bytes_max) {
  // zstd also has frames to be skipped, which state a size of zero and hold whatever they like.
  if (!frame.starts_with(kMagic)) return std::nullopt;
  // ZSTD_CONTENTSIZE_UNKNOWN and _ERROR are the largest numbers there are.
  const auto stated = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (stated > bytes_max) return std::nullopt;
  if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size()) return std::nullopt;
  std::string bytes;
  std::size_t size = 0;
  bytes.resize_and_overwrite(stated, [&](char* into, std::size_t room) {
    size = ZSTD_decompressDCtx(decompressor(), into, room, frame.data(), frame.size());
    return ZSTD_isError(size) ? 0 : size;
  });
  if (ZSTD_isError(size) || size != stated) return std::nullopt;
  return bytes;
}

}  // namespace remotist
