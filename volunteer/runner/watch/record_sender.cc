#include "volunteer/runner/watch/record_sender.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <format>
#include <limits>
#include <unistd.h>
#include <utility>

#include "core/limits.h"
#include "volunteer/runner/r_session.h"
#include "volunteer/runner/side_thread.h"
#include "volunteer/runner/watch/record_budget.h"
#include "volunteer/sandbox/frames.h"

namespace remotist::volunteer {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSendInterval = std::chrono::milliseconds(30);
constexpr auto kBusySendInterval = std::chrono::milliseconds(100);
constexpr double kBusyRecordsPerSecond = 120;
constexpr auto kFileSpacePoll = std::chrono::milliseconds(10);
constexpr auto kFileSpaceWaitMax = std::chrono::seconds(20);
constexpr std::size_t kOutgoingBytesMax = 128 << 10;
constexpr std::size_t kSenderStackBytes = 1 << 20;
constexpr auto kNoVariable = std::numeric_limits<std::size_t>::max();

Hash hash_of(const Sample& sample) {
  return sample.kind == WatchedKind::value ? canonical_hash(sample.stream) : hash_of_reason(sample.reason);
}

}  // namespace

RecordSender::RecordSender(Options options)
    : options_(std::move(options)),
      last_sent_(options_.variables),
      enqueued_(options_.variables),
      processed_(options_.variables),
      waiting_(options_.variables) {
  for (const auto& [variable, record] : options_.last) {
    if (variable >= last_sent_.size() || record.hash.size() != sizeof(Hash)) continue;
    auto& last = last_sent_[variable];
    last.sent = true;
    last.kind = record.kind;
    std::memcpy(&last.hash, record.hash.data(), sizeof(Hash));
  }
}

bool RecordSender::start() {
  return start_side_thread(kSenderStackBytes, run, this);
}

void* RecordSender::run(void* self) {
  static_cast<RecordSender*>(self)->work();
  return nullptr;
}

bool RecordSender::has_room(std::size_t variable) const {
  return waiting_[variable].load(std::memory_order_relaxed) < limits::kWatchedWaitingMax &&
         static_cast<double>(waiting_bytes_.load(std::memory_order_relaxed)) < limits::kWatchedBytesBurst;
}

void RecordSender::enqueue(Sample sample) {
  ++waiting_[sample.variable];
  ++enqueued_[sample.variable];
  waiting_bytes_ += sample.stream.copied().size();
  bool wake = false;
  {
    const std::scoped_lock lock{mutex_};
    queue_.push_back(std::move(sample));
    wake = asleep_;
  }
  if (wake) wake_.notify_one();
}

void RecordSender::mark(std::uint64_t number) {
  Mark one{number, enqueued_, std::vector<std::optional<WatchedMark>>(options_.variables)};
  const std::scoped_lock lock{mutex_};
  marks_.push_back(std::move(one));
  ++mark_count_;
  wake_.notify_one();
}

void RecordSender::request_ticks() {
  bool wake = false;
  {
    const std::scoped_lock lock{mutex_};
    ticking_ = true;
    wake = asleep_;
  }
  if (wake) wake_.notify_one();
}

std::vector<int> RecordSender::take_finished_slots() {
  const std::scoped_lock lock{mutex_};
  finished_count_ = 0;
  return std::exchange(finished_slots_, {});
}

void RecordSender::drain() {
  std::unique_lock lock{mutex_};
  draining_ = true;
  wake_.notify_one();
  idle_.wait(lock, [this] { return queue_.empty() && !busy_; });
  draining_ = false;
}

// Waking a thread costs more than the rest of a record. So after a record was sent, those of the next
// milliseconds are collected and sent together; under load the interval is longer.
void RecordSender::work() {
  auto interval = kSendInterval;
  std::unique_lock lock{mutex_};
  while (true) {
    asleep_ = true;
    wake_.wait(lock, [this] { return !queue_.empty() || !marks_.empty() || ticking_ || draining_; });
    asleep_ = false;
    if (std::exchange(ticking_, false)) {
      lock.unlock();
      const bool again = tick_(now_us());
      lock.lock();
      ticking_ = ticking_ || again;
    }
    busy_ = true;
    int processed = 0;
    for (Sample sample; dequeue(sample, false, kNoVariable); ++processed) {
      lock.unlock();
      process(sample);
      release(sample);
      lock.lock();
    }
    lock.unlock();
    send_marks();
    send_outgoing();
    lock.lock();
    busy_ = false;
    if (queue_.empty()) idle_.notify_all();
    // drain() is about to return.
    if (draining_) wake_.wait(lock, [this] { return !draining_ || !queue_.empty(); });
    interval = processed > kBusyRecordsPerSecond * std::chrono::duration<double>(interval).count()
                   ? kBusySendInterval
                   : kSendInterval;
    wake_.wait_for(lock, interval, [this] { return draining_; });
  }
}

void RecordSender::add_frame(const GuestRecord& record, std::string_view body) {
  outgoing_ += frame_bytes(encode(record), body);
  if (outgoing_.size() >= kOutgoingBytesMax) send_outgoing();
}

void RecordSender::send_outgoing() {
  if (outgoing_.empty()) return;
  send_frames(options_.frames, outgoing_);
  outgoing_.clear();
}

bool RecordSender::dequeue(Sample& sample, bool small_only, std::size_t except) {
  auto chosen = queue_.end();
  std::vector<bool> skipped(options_.variables);
  if (except != kNoVariable) skipped[except] = true;
  for (auto at = queue_.begin(); at != queue_.end() && chosen == queue_.end(); ++at) {
    if (at->stream.size() <= limits::kWatchedInlineBytesMax && !skipped[at->variable]) chosen = at;
    skipped[at->variable] = true;
  }
  if (chosen == queue_.end() && !small_only) chosen = queue_.begin();
  if (chosen == queue_.end()) return false;
  sample = std::move(*chosen);
  queue_.erase(chosen);
  return true;
}

void RecordSender::release(const Sample& sample) {
  --waiting_[sample.variable];
  waiting_bytes_ -= sample.stream.copied().size();
  if (sample.slot < 0) return;
  const std::scoped_lock lock{mutex_};
  finished_slots_.push_back(sample.slot);
  ++finished_count_;
  ticking_ = true;  // so that R's thread unpins the vectors
}

// Small samples of other variables overtake a large one while it is written.
void RecordSender::process_small_samples(std::size_t except) {
  while (true) {
    Sample sample;
    {
      const std::scoped_lock lock{mutex_};
      if (!dequeue(sample, true, except)) break;
    }
    process(sample);
    release(sample);
  }
  send_outgoing();
}

WatchedMark RecordSender::mark_of(std::size_t variable) const {
  const auto& last = last_sent_[variable];
  if (!last.sent && last.number == 0) return {};
  return {last.number, last.kind, {reinterpret_cast<const char*>(&last.hash), sizeof last.hash}};
}

void RecordSender::note_marks(std::size_t variable) {
  if (mark_count_ == 0) return;
  const std::scoped_lock lock{mutex_};
  for (auto& one : marks_) {
    if (!one.found[variable] && processed_[variable] >= one.after[variable])
      one.found[variable] = mark_of(variable);
  }
}

// Those for which every sample has been processed, with what was found on the way.
void RecordSender::send_marks() {
  for (std::size_t variable = 0; mark_count_ > 0 && variable < options_.variables; ++variable)
    note_marks(variable);
  while (mark_count_ > 0) {
    WatchedMarks marks;
    {
      const std::scoped_lock lock{mutex_};
      auto& first = marks_.front();
      if (!std::ranges::all_of(first.found, [](const auto& found) { return found.has_value(); })) return;
      marks.number = first.number;
      for (auto& found : first.found) marks.marks.push_back(std::move(*found));
      marks_.pop_front();
      --mark_count_;
    }
    outgoing_ += frame_bytes(encode(marks));
  }
}

void RecordSender::process(Sample& sample) {
  note_marks(sample.variable);
  ++processed_[sample.variable];
  auto& last = last_sent_[sample.variable];
  const Hash hash = hash_of(sample);
  if (!is_new(last, sample, hash)) {
    // One assignment of the same value is no change; after several the value may have changed and changed
    // back.
    if (sample.changes > 1) last.uncounted_changes += sample.changes;
    return;
  }
  last.sent = true;
  last.kind = sample.kind;
  last.hash = hash;
  send(last, sample);
}

bool RecordSender::is_new(const LastSent& last, const Sample& sample, const Hash& hash) {
  if (!last.sent) return sample.kind != WatchedKind::removed;
  return sample.kind != last.kind || !(hash == last.hash);
}

void RecordSender::send(LastSent& last, Sample& sample) {
  const auto changes = sample.changes == 0 ? 0 : sample.changes + last.uncounted_changes;
  GuestRecord record{.variable = sample.variable,
                     .at_us = sample.at_us,
                     .record = {.number = ++last.number,
                                .changes = static_cast<std::int64_t>(changes),
                                .kind = sample.kind,
                                .words = sample.reason}};
  last.uncounted_changes = 0;
  if (sample.kind != WatchedKind::value) return add_frame(record);
  if (sample.stream.size() <= limits::kWatchedInlineBytesMax) {
    if (sample.slot < 0) return add_frame(record, sample.stream.copied());
    std::string bytes;
    sample.stream.each_segment([&](std::string_view segment) { bytes += segment; });
    return add_frame(record, bytes);
  }
  if (const auto problem = write_file(sample, record.file); !problem.empty()) {
    record.record.kind = WatchedKind::problem;
    record.record.words = problem;
    last.sent = false;  // the next change is sent even if the value is the same
  }
  add_frame(record);
}

// The host deletes a file once it has read it. Until then it counts against the space for watched values.
bool RecordSender::wait_for_file_space(const Sample& sample) {
  const auto until = Clock::now() + kFileSpaceWaitMax;
  while (true) {
    std::size_t used = 0;
    std::erase_if(unread_files_, [&](const auto& file) {
      const bool gone = ::faccessat(options_.out, file.first.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0;
      if (!gone) used += file.second;
      return gone;
    });
    if (used == 0 || used + sample.stream.size() <= limits::kWatchedFileBytesMax) return true;
    if (Clock::now() > until) return false;
    process_small_samples(sample.variable);
    const timespec pause{0, std::chrono::nanoseconds(kFileSpacePoll).count()};
    ::nanosleep(&pause, nullptr);
  }
}

std::string RecordSender::write_file(const Sample& sample, std::string& name) {
  if (!wait_for_file_space(sample)) return "values that were sent before have not been read yet";
  name = std::format("{}{}", kWatchedFilePrefix, next_file_++);
  const int file =
      ::openat(options_.out, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  int error = file < 0 ? errno : 0;
  sample.stream.each_segment([&](std::string_view segment) {
    while (!segment.empty() && error == 0) {
      process_small_samples(sample.variable);
      const ssize_t written = ::write(file, segment.data(), std::min<std::size_t>(segment.size(), 8 << 20));
      if (written > 0) {
        segment.remove_prefix(static_cast<std::size_t>(written));
      } else if (errno != EINTR) {
        error = errno;
      }
    }
  });
  if (file >= 0) ::close(file);
  if (error == 0) {
    unread_files_.emplace_back(name, sample.stream.size());
    return {};
  }
  ::unlinkat(options_.out, name.c_str(), 0);
  name.clear();
  return std::format("it cannot be handed over: {}", std::strerror(error));
}

}  // namespace remotist::volunteer
