#include "tests/checkpoint/kept_checkpoints.h"

#include <cstdlib>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <format>
#include <stdexcept>

#include "volunteer/sandbox/descriptor.h"

namespace remotist::volunteer::checkpointed {

KeptCheckpoints::KeptCheckpoints() {
  std::string name = (std::filesystem::temp_directory_path() / "kept-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error{"no folder for checkpoints"};
  folder_ = name;
}

KeptCheckpoints::~KeptCheckpoints() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

const KeptCheckpoints::Entry& KeptCheckpoints::keep(const CheckpointTaken& taken) {
  const Descriptor descriptor{::open(taken.file.c_str(), O_RDONLY | O_CLOEXEC)};
  const auto file = CheckpointFile::open(descriptor.get());
  REQUIRE_MESSAGE(file.has_value(), (file ? "" : file.error()));
  Entry kept{
      .taken = taken, .manifest = file->manifest(), .manifest_text = file->manifest_text(), .chunks = {}};
  for (std::size_t i = 0; i < file->chunks().size(); ++i) {
    const auto& chunk = file->chunks()[i];
    kept.chunks.push_back(chunk.name);
    if (chunk.stored > 0) {
      REQUIRE(file->contents(i));
      frames_[chunk.name] = file->frame(i).value();
      ++kept.frames;
      kept.frame_bytes += chunk.stored;
    } else {
      REQUIRE(frames_.contains(chunk.name));
    }
  }
  std::filesystem::remove(taken.file);
  all_.push_back(std::move(kept));
  return all_.back();
}

ResumeFrom KeptCheckpoints::resume_from(std::optional<std::size_t> index) const {
  const auto at = index.value_or(all_.size() - 1);
  const auto& kept = all_.at(at);
  ResumeFrom resume{.file = folder_ / std::format("whole-{}", at),
                    .log = kept.taken.log,
                    .log_left_out = kept.taken.log_left_out};
  for (std::size_t i = 0; i < kept.taken.watched.size(); ++i) {
    const auto& mark = kept.taken.watched[i];
    if (!mark.hash.empty()) resume.watched[i] = {mark.kind, mark.hash};
  }
  const Descriptor file{::open(resume.file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
  const auto problem = assemble_checkpoint(file.get(), kept.manifest_text, kept.chunks, [&](std::size_t i) {
    return std::optional{frames_.at(kept.chunks[i])};
  });
  REQUIRE_MESSAGE(problem.empty(), problem);
  return resume;
}

}  // namespace remotist::volunteer::checkpointed
