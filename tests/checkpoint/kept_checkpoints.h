// What a market does for the checkpoints of one job: keeps their chunks, and puts whole checkpoints together.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "volunteer/sandbox/checkpoint_file.h"
#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer::checkpointed {

class KeptCheckpoints {
 public:
  KeptCheckpoints();
  ~KeptCheckpoints();
  KeptCheckpoints(const KeptCheckpoints&) = delete;
  KeptCheckpoints& operator=(const KeptCheckpoints&) = delete;

  struct Entry {
    CheckpointTaken taken;
    CheckpointManifest manifest;
    std::string manifest_text;
    std::vector<ChunkHash> chunks;
    std::size_t frames = 0;  // of these that were in the file
    std::int64_t frame_bytes = 0;
  };
  // Takes the chunks of a checkpoint out of its file and deletes the file. Fails the test when the file is
  // damaged, or leaves a frame out that no earlier checkpoint had.
  const Entry& keep(const CheckpointTaken& taken);
  const std::vector<Entry>& all() const { return all_; }

  // A whole checkpoint to resume from, the one with this index or the last.
  ResumeFrom resume_from(std::optional<std::size_t> index = std::nullopt) const;

 private:
  std::filesystem::path folder_;
  std::map<ChunkHash, std::string> frames_;
  std::vector<Entry> all_;
};

}  // namespace remotist::volunteer::checkpointed
