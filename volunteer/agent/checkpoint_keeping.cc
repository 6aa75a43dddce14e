#include "volunteer/agent/checkpoint_keeping.h"

#include <utility>

namespace remotist::volunteer {

namespace fs = std::filesystem;

std::optional<fs::path> CheckpointKeeping::add(CheckpointTaken taken) {
  auto added = std::make_shared<const CheckpointTaken>(std::move(taken));
  if (!current_ || step_ == Step::ready) {
    const auto replaced = std::exchange(current_, nullptr);
    start(std::move(added));
    return replaced ? std::optional{replaced->file} : std::nullopt;
  }
  const auto replaced = std::exchange(waiting_, std::move(added));
  return replaced ? std::optional{replaced->file} : std::nullopt;
}

void CheckpointKeeping::start(Taken next) {
  current_ = std::move(next);
  step_ = Step::ready;
  chunks_.reset();
  is_numbered_ = false;
  failures_ = 0;
  retry_at_ = {};
}

CheckpointKeeping::Taken CheckpointKeeping::begin_upload(Time now) {
  if (!current_ || step_ != Step::ready || retry_at_ > now) return nullptr;
  step_ = Step::uploading;
  return current_;
}

void CheckpointKeeping::uploaded(Uploaded chunks) {
  if (step_ != Step::uploading) return;
  step_ = Step::flushing;
  chunks_ = std::move(chunks);
  failures_ = 0;
  retry_at_ = {};
}

std::uint64_t CheckpointKeeping::begin_recording() {
  step_ = Step::recording;
  if (!std::exchange(is_numbered_, true)) ++recorded_;
  return recorded_;
}

std::optional<fs::path> CheckpointKeeping::retry(std::uint64_t number, bool from_upload,
                                                 Clock::duration delay, Time now) {
  if (!is_current(number)) return std::nullopt;
  if (waiting_) return finish(number);
  step_ = from_upload ? Step::ready : Step::flushing;
  ++failures_;
  retry_at_ = now + delay;
  return std::nullopt;
}

std::optional<fs::path> CheckpointKeeping::finish(std::uint64_t number) {
  if (!is_current(number)) return std::nullopt;
  auto file = current_->file;
  start(std::exchange(waiting_, nullptr));
  return file;
}

}  // namespace remotist::volunteer
