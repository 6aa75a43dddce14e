// The checkpoints of one attempt on their way to the market, one at a time. While one is uploaded only the
// newest of those that follow waits.
//
//   ready ──► uploading ──► flushing ──► recording ──► gone
//
// flushing: its chunks are at the market, and a record of a watched variable from before it is not yet
// acknowledged there. A step that fails for a while is tried again; one that fails for good ends the
// checkpoint. Has no connection, file or clock. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "volunteer/connection/clock.h"
#include "volunteer/sandbox/guest.h"

namespace remotist::volunteer {

// What was uploaded of a checkpoint.
struct UploadedChunks {
  std::string manifest;             // of the file
  std::vector<std::string> chunks;  // names of the file's chunks, in their order
  std::int64_t contents_bytes = 0;  // of all chunks
  std::int64_t sent_bytes = 0;      // of the frames that the market lacked
};

class CheckpointKeeping {
 public:
  using Taken = std::shared_ptr<const CheckpointTaken>;
  using Uploaded = std::shared_ptr<const UploadedChunks>;

  // Queues a checkpoint. Returns the file of one that it replaces.
  [[nodiscard]] std::optional<std::filesystem::path> add(CheckpointTaken taken);

  // Whether there is one that is not at the market yet.
  bool busy() const { return current_ != nullptr; }
  bool is_uploading() const { return step_ == Step::uploading; }
  bool has_newer() const { return waiting_ != nullptr; }
  // The one on its way; null: none.
  const Taken& current() const { return current_; }

  // The next checkpoint to upload, or null; uploaded(), retry() or finish() must follow.
  Taken begin_upload(Time now);
  void uploaded(Uploaded chunks);
  const Uploaded& chunks() const { return chunks_; }

  // Whether its chunks are uploaded, and it waits to be recorded.
  bool is_flushing(Time now) const { return current_ && step_ == Step::flushing && retry_at_ <= now; }
  // retry() or finish() must follow. Returns the number under which the market is to record it: 1, 2, … of
  // those of this attempt, and the same when it is tried again.
  std::uint64_t begin_recording();

  bool is_recording() const { return current_ && step_ == Step::recording; }

  // Each ends the current step of the guest's checkpoint with that number; others are ignored.
  // Tries again, from the upload when chunks are missing; if there is a newer one, that takes its place.
  [[nodiscard]] std::optional<std::filesystem::path> retry(std::uint64_t number, bool from_upload,
                                                           Clock::duration delay, Time now);
  // It is recorded, or given up. Returns its file.
  [[nodiscard]] std::optional<std::filesystem::path> finish(std::uint64_t number);

  // How often the current one has failed in a row.
  int failures() const { return failures_; }
  // When to call wake(), and the above then. Never: Time::max().
  Time due() const { return retry_at_ == Time{} ? Time::max() : retry_at_; }
  void wake(Time now) {
    if (retry_at_ <= now) retry_at_ = {};
  }

 private:
  enum class Step : std::uint8_t { ready, uploading, flushing, recording };
  bool is_current(std::uint64_t number) const { return current_ && current_->number == number; }
  void start(Taken next);

  Taken current_;
  Taken waiting_;
  Step step_ = Step::ready;
  Uploaded chunks_;
  std::uint64_t recorded_ = 0;  // number of the newest that was to be recorded
  bool is_numbered_ = false;    // the current one has that number
  int failures_ = 0;
  Time retry_at_{};
};

}  // namespace remotist::volunteer
