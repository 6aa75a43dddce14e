// What holds of the file of a checkpoint whatever a hostile job writes into it. The fuzzer looks for bytes
// that break it, and the unit tests try again all that were found.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#include "core/limits.h"
#include "core/sha256.h"
#include "volunteer/sandbox/checkpoint_file.h"
#include "volunteer/sandbox/descriptor.h"

namespace remotist::fuzz {

inline volunteer::Descriptor file_with(std::string_view bytes) {
  volunteer::Descriptor file{::memfd_create("checkpoint", MFD_CLOEXEC)};
  if (::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) file.reset();
  return file;
}

inline std::string bytes_in(int file) {
  std::string bytes(static_cast<std::size_t>(::lseek(file, 0, SEEK_END)), '\0');
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(::pread(file, bytes.data(), bytes.size(), 0), 0)));
  return bytes;
}

// Makes the hash at the end right, so that a change of the table or the manifest gets past it.
inline std::string with_right_hash(std::string_view bytes) {
  constexpr std::size_t kHash = 32;
  constexpr std::size_t kEnd = 16 + kHash;
  std::string file{bytes};
  if (file.size() < kEnd) return file;
  std::uint64_t count = 0;
  std::uint64_t manifest = 0;
  std::memcpy(&count, file.data() + file.size() - kEnd, sizeof count);
  std::memcpy(&manifest, file.data() + file.size() - kEnd + sizeof count, sizeof manifest);
  if (count > file.size() || manifest > file.size()) return file;
  const auto said = count * sizeof(volunteer::CheckpointChunk) + manifest + kEnd - kHash;
  if (said + kHash > file.size()) return file;
  const auto from = file.size() - kHash - said;
  const auto hash = sha256(std::string_view(file).substr(from, said));
  file.replace(file.size() - kHash, kHash, hash);
  return file;
}

// What is wrong with the reader; empty when nothing is.
inline std::string checkpoint_broken_by(const std::string& bytes) {
  const auto file = file_with(bytes);
  const auto read = volunteer::CheckpointFile::open(file.get());
  if (!read) return read.error().empty() ? "a file is refused without a reason" : "";
  if (read->chunks().size() > limits::kCheckpointFileChunksMax) return "there are too many chunks";
  if (volunteer::parse_checkpoint_manifest(read->manifest_text()) != read->manifest())
    return "the manifest's text says something else";
  if (volunteer::parse_checkpoint_manifest(encode(read->manifest())) != read->manifest())
    return "the manifest cannot be written";
  bool right = read->is_whole();
  std::vector<volunteer::ChunkHash> names;
  for (std::size_t i = 0; i < read->chunks().size(); ++i) {
    const auto& chunk = read->chunks()[i];
    names.push_back(chunk.name);
    const auto frame = read->frame(i);
    const auto contents = read->contents(i);
    if (frame.has_value() != (chunk.stored > 0)) return "a frame is there that is not, or not there that is";
    if (frame && frame->size() != chunk.stored) return "a frame has another length";
    if (contents &&
        (contents->size() != chunk.length || sha256(*contents) != volunteer::bytes_of(chunk.name)))
      return "a chunk's contents are not what its name says";
    right = right && contents;
  }
  // What is right is assembled to the same file; what is missing is not made up.
  const auto again = file_with("");
  const auto problem = volunteer::assemble_checkpoint(again.get(), read->manifest_text(), names,
                                                      [&](std::size_t index) { return read->frame(index); });
  if (right && !problem.empty()) return "a right file cannot be assembled: " + problem;
  if (!read->is_whole() && problem.empty()) return "a file is assembled without all of its frames";
  if (right && bytes_in(again.get()) != bytes) return "the assembled file differs";
  return {};
}

inline std::string checkpoints_broken_by(std::string_view bytes) {
  auto broken = checkpoint_broken_by(std::string{bytes});
  return broken.empty() ? checkpoint_broken_by(with_right_hash(bytes)) : broken;
}

}  // namespace remotist::fuzz
