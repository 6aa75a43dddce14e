#include "volunteer/runner/watch/courier.h"

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
#include "volunteer/runner/engine.h"
#include "volunteer/runner/side_thread.h"
#include "volunteer/sandbox/frames.h"

namespace remotist::volunteer {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kRound = std::chrono::milliseconds(30);
constexpr auto kLongRound = std::chrono::milliseconds(100);
constexpr double kManyPerSecond = 120;
constexpr auto kLookForRoomEvery = std::chrono::milliseconds(10);
constexpr auto kRoomPatience = std::chrono::seconds(20);
constexpr std::size_t kOutgoingBytesMax = 128 << 10;
constexpr std::size_t kStackBytes = 1 << 20;
constexpr auto kNone = std::numeric_limits<std::size_t>::max();

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

Courier::Courier(Options options)
    : options_(options), last_(options.variables), waiting_(options.variables) {}

bool Courier::start() {
  return start_side_thread(kStackBytes, run, this);
}

void* Courier::run(void* self) {
  static_cast<Courier*>(self)->work();
  return nullptr;
}

bool Courier::has_room(std::size_t variable) const {
  return waiting_[variable].load(std::memory_order_relaxed) < limits::kWatchedWaitingMax &&
         static_cast<double>(waiting_bytes_.load(std::memory_order_relaxed)) < limits::kWatchedBytesBurst;
}

void Courier::take(Report report) {
  ++waiting_[report.variable];
  waiting_bytes_ += report.stream.copied().size();
  bool wake = false;
  {
    const std::scoped_lock lock{mutex_};
    queue_.push_back(std::move(report));
    wake = asleep_;
  }
  if (wake) wake_.notify_one();
}

void Courier::want_ticks() {
  bool wake = false;
  {
    const std::scoped_lock lock{mutex_};
    ticking_ = true;
    wake = asleep_;
  }
  if (wake) wake_.notify_one();
}

std::vector<int> Courier::finished() {
  const std::scoped_lock lock{mutex_};
  finished_count_ = 0;
  return std::exchange(finished_, {});
}

void Courier::drain() {
  std::unique_lock lock{mutex_};
  hurry_ = true;
  wake_.notify_one();
  idle_.wait(lock, [this] { return queue_.empty() && !busy_; });
  hurry_ = false;
}

// Waking a thread costs more than all the rest of a record: after one was sent, what comes in the next
// milliseconds goes together; in more of them while there is much.
void Courier::work() {
  auto round = kRound;
  std::unique_lock lock{mutex_};
  while (true) {
    asleep_ = true;
    wake_.wait(lock, [this] { return !queue_.empty() || ticking_ || hurry_; });
    asleep_ = false;
    if (std::exchange(ticking_, false)) {
      lock.unlock();
      const bool again = tick_(now_us());
      lock.lock();
      ticking_ = ticking_ || again;
    }
    busy_ = true;
    int delivered = 0;
    for (Report report; pick(report, false, kNone); ++delivered) {
      lock.unlock();
      deliver(report);
      done_with(report);
      lock.lock();
    }
    lock.unlock();
    send_outgoing();
    lock.lock();
    busy_ = false;
    if (queue_.empty()) idle_.notify_all();
    // Nothing to do but to be asked: drain() has its answer.
    if (hurry_) wake_.wait(lock, [this] { return !hurry_ || !queue_.empty(); });
    round = delivered > kManyPerSecond * std::chrono::duration<double>(round).count() ? kLongRound : kRound;
    wake_.wait_for(lock, round, [this] { return hurry_; });
  }
}

void Courier::add_frame(const Changed& word, std::string_view body) {
  outgoing_ += frame_bytes(head_of(word), body);
  if (outgoing_.size() >= kOutgoingBytesMax) send_outgoing();
}

void Courier::send_outgoing() {
  if (outgoing_.empty()) return;
  say_frames(options_.frames, outgoing_);
  outgoing_.clear();
}

bool Courier::pick(Report& report, bool small_only, std::size_t not_of) {
  auto chosen = queue_.end();
  std::vector<bool> passed(options_.variables);
  if (not_of != kNone) passed[not_of] = true;
  for (auto at = queue_.begin(); at != queue_.end() && chosen == queue_.end(); ++at) {
    if (at->stream.size() <= limits::kWatchedInlineBytesMax && !passed[at->variable]) chosen = at;
    passed[at->variable] = true;
  }
  if (chosen == queue_.end() && !small_only) chosen = queue_.begin();
  if (chosen == queue_.end()) return false;
  report = std::move(*chosen);
  queue_.erase(chosen);
  return true;
}

void Courier::done_with(const Report& report) {
  --waiting_[report.variable];
  waiting_bytes_ -= report.stream.copied().size();
  if (report.slot < 0) return;
  const std::scoped_lock lock{mutex_};
  finished_.push_back(report.slot);
  ++finished_count_;
  ticking_ = true;  // so that R's thread is told
}

// A large value takes its time; the others need not wait for it.
void Courier::deliver_small_ones(std::size_t not_of) {
  while (true) {
    Report report;
    {
      const std::scoped_lock lock{mutex_};
      if (!pick(report, true, not_of)) break;
    }
    deliver(report);
    done_with(report);
  }
  send_outgoing();
}

void Courier::deliver(Report& report) {
  auto& last = last_[report.variable];
  Hash hash;
  if (!is_news(last, report, hash)) {
    // One assignment of the same value is no change; several may have led away and back.
    if (report.changes > 1) last.carried += report.changes;
    return;
  }
  last.told = true;
  last.kind = report.kind;
  last.hash = hash;
  last.words = report.words;
  send(last, report);
}

bool Courier::is_news(Last& last, const Report& report, Hash& hash) {
  if (report.kind == Changed::Kind::value) hash = canonical_hash(report.stream);
  if (!last.told) return report.kind != Changed::Kind::removed;
  return report.kind != last.kind || !(hash == last.hash) || report.words != last.words;
}

void Courier::send(Last& last, Report& report) {
  Changed word{.variable = report.variable,
               .number = ++last.number,
               .changes = report.changes == 0 ? 0 : report.changes + last.carried,
               .at_us = report.at_us,
               .kind = report.kind,
               .file = {},
               .words = report.words};
  last.carried = 0;
  if (report.kind != Changed::Kind::value) return add_frame(word);
  if (report.stream.size() <= limits::kWatchedInlineBytesMax) {
    if (report.slot < 0) return add_frame(word, report.stream.copied());
    std::string bytes;
    report.stream.each([&](std::string_view piece) { bytes += piece; });
    return add_frame(word, bytes);
  }
  if (const auto problem = write_file(report, word.file); !problem.empty()) {
    word.kind = Changed::Kind::problem;
    word.words = problem;
    last.told = false;  // it is tried again with the next change
  }
  add_frame(word);
}

// The host deletes what it has read. Until then the file takes room that the job was not given.
bool Courier::wait_for_room(const Report& report) {
  const auto until = Clock::now() + kRoomPatience;
  while (true) {
    std::size_t taken = 0;
    std::erase_if(files_, [&](const auto& file) {
      const bool gone = ::faccessat(options_.out, file.first.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0;
      if (!gone) taken += file.second;
      return gone;
    });
    if (taken == 0 || taken + report.stream.size() <= limits::kWatchedFileBytesMax) return true;
    if (Clock::now() > until) return false;
    deliver_small_ones(report.variable);
    const timespec pause{0, std::chrono::nanoseconds(kLookForRoomEvery).count()};
    ::nanosleep(&pause, nullptr);
  }
}

std::string Courier::write_file(const Report& report, std::string& name) {
  if (!wait_for_room(report)) return "values that were sent before have not been read yet";
  name = std::format("{}{}", kPartialFilePrefix, next_file_++);
  const int file =
      ::openat(options_.out, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  int error = file < 0 ? errno : 0;
  report.stream.each([&](std::string_view piece) {
    while (!piece.empty() && error == 0) {
      deliver_small_ones(report.variable);
      const ssize_t written = ::write(file, piece.data(), std::min<std::size_t>(piece.size(), 8 << 20));
      if (written > 0) {
        piece.remove_prefix(static_cast<std::size_t>(written));
      } else if (errno != EINTR) {
        error = errno;
      }
    }
  });
  if (file >= 0) ::close(file);
  if (error == 0) {
    files_.emplace_back(name, report.stream.size());
    return {};
  }
  ::unlinkat(options_.out, name.c_str(), 0);
  name.clear();
  return std::format("it cannot be handed over: {}", std::strerror(error));
}

}  // namespace remotist::volunteer
