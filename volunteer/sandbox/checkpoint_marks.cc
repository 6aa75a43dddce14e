#include "volunteer/sandbox/checkpoint_marks.h"

#include <utility>

namespace remotist::volunteer {

bool CheckpointMarks::expects_begin(std::uint64_t number, Time now) {
  if (number <= last_begun_ || number <= last_dropped_ || !begun_budget_.try_take(1, now)) return false;
  last_begun_ = number;
  return true;
}

bool CheckpointMarks::expects_marker(std::uint64_t number, Time now) {
  if (number <= last_marker_ || number <= last_dropped_ || !marker_budget_.try_take(1, now)) return false;
  last_marker_ = number;
  return true;
}

CheckpointMarks::Pending& CheckpointMarks::pending(std::uint64_t number) {
  auto& one = pending_[number];
  one.taken.number = number;
  return one;
}

void CheckpointMarks::drop_oldest() {
  while (pending_.size() > kPendingMax) {
    auto oldest = pending_.extract(pending_.begin());
    last_dropped_ = oldest.key();
    if (oldest.mapped().complete) abandoned_.push_back(std::move(oldest.mapped().taken.file));
  }
}

void CheckpointMarks::begin(std::uint64_t number, std::int64_t cpu_ms, Time now,
                            const std::optional<Progress>& progress) {
  auto& one = pending(number);
  one.begun = true;
  one.watched_marked = variables_ == 0;
  one.taken.cpu_ms = cpu_ms;
  one.taken.at = now;
  one.taken.progress = progress;
  drop_oldest();
}

void CheckpointMarks::mark_output(std::uint64_t number, std::string log, std::uint64_t left_out) {
  auto& one = pending(number);
  one.output_marked = true;
  one.taken.log = std::move(log);
  one.taken.log_left_out = left_out;
  drop_oldest();
}

void CheckpointMarks::mark_watched(WatchedMarks marks, const std::vector<std::int64_t>& records) {
  const auto found = pending_.find(marks.number);
  if (found == pending_.end() || !found->second.begun || found->second.watched_marked) return;
  if (marks.marks.size() != variables_) return;
  for (std::size_t i = 0; i < variables_; ++i) {
    if (marks.marks[i].number > records[i]) return;
  }
  found->second.watched_marked = true;
  found->second.taken.watched = std::move(marks.marks);
}

bool CheckpointMarks::expects_file(std::uint64_t number) const {
  const auto found = pending_.find(number);
  return found != pending_.end() && found->second.begun && !found->second.complete;
}

void CheckpointMarks::complete(const Checkpointed& message, std::filesystem::path file, std::int64_t bytes) {
  auto& one = pending_.at(message.number);
  one.complete = true;
  one.taken.file = std::move(file);
  one.taken.bytes = bytes;
  one.taken.pause_ms = message.pause_ms;
  one.taken.child_cpu_ms = message.child_cpu_ms;
}

// A complete one ends those before it: the guest writes one at a time, so they have failed.
std::vector<CheckpointTaken> CheckpointMarks::take_complete() {
  std::vector<CheckpointTaken> taken;
  for (auto at = pending_.begin(); at != pending_.end();) {
    if (!at->second.all()) {
      ++at;
      continue;
    }
    taken.push_back(std::move(at->second.taken));
    last_dropped_ = at->first;
    for (auto before = pending_.begin(); before != at; before = pending_.erase(before)) {
      if (before->second.complete) abandoned_.push_back(std::move(before->second.taken.file));
    }
    at = pending_.erase(at);
  }
  return taken;
}

std::vector<std::filesystem::path> CheckpointMarks::take_abandoned() {
  return std::exchange(abandoned_, {});
}

void CheckpointMarks::abandon() {
  for (auto& [number, one] : pending_) {
    if (one.complete) abandoned_.push_back(std::move(one.taken.file));
  }
  pending_.clear();
}

}  // namespace remotist::volunteer
