#include "volunteer/runner/watch/courier.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <format>
#include <unistd.h>
#include <utility>

#include "core/limits.h"
#include "volunteer/runner/engine.h"

namespace remotist::volunteer {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kTick = std::chrono::milliseconds(5);
constexpr auto kLookForRoomEvery = std::chrono::milliseconds(10);
constexpr auto kRoomPatience = std::chrono::seconds(20);
constexpr std::size_t kStackBytes = 1 << 20;

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

Courier::Courier(Options options)
    : options_(options), last_(options.variables), waiting_(options.variables) {}

bool Courier::start() {
  // The stack counts as memory of the job. Signals are for R's thread.
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failed = ::pthread_create(&thread_, &attributes, run, this);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  return failed == 0;
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
  waiting_bytes_ += report.stream.size();
  {
    const std::scoped_lock lock{mutex_};
    queue_.push_back(std::move(report));
  }
  wake_.notify_one();
}

void Courier::want_ticks() {
  {
    const std::scoped_lock lock{mutex_};
    if (ticking_) return;
    ticking_ = true;
  }
  wake_.notify_one();
}

std::vector<int> Courier::finished() {
  const std::scoped_lock lock{mutex_};
  finished_count_ = 0;
  return std::exchange(finished_, {});
}

void Courier::drain() {
  std::unique_lock lock{mutex_};
  idle_.wait(lock, [this] { return queue_.empty() && !busy_; });
}

void Courier::work() {
  std::unique_lock lock{mutex_};
  while (true) {
    if (ticking_) {
      wake_.wait_for(lock, kTick, [this] { return !queue_.empty(); });
      ticking_ = false;
      lock.unlock();
      const bool again = tick_(now_us());
      lock.lock();
      ticking_ = ticking_ || again;
    } else {
      wake_.wait(lock, [this] { return !queue_.empty() || ticking_; });
    }
    if (queue_.empty()) continue;
    Report report = std::move(queue_.front());
    queue_.pop_front();
    busy_ = true;
    lock.unlock();
    deliver(report);
    --waiting_[report.variable];
    waiting_bytes_ -= report.stream.size();
    lock.lock();
    if (report.slot >= 0) {
      finished_.push_back(report.slot);
      ++finished_count_;
      ticking_ = true;  // so that R's thread is told
    }
    busy_ = false;
    if (queue_.empty()) idle_.notify_all();
  }
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
  if (report.kind != Changed::Kind::value) return say(options_.frames, word);
  if (report.stream.size() <= limits::kWatchedInlineBytesMax) {
    std::string bytes;
    report.stream.each([&](std::string_view piece) { bytes += piece; });
    return say(options_.frames, word, bytes);
  }
  if (const auto problem = write_file(report.stream, word.file); !problem.empty()) {
    word.kind = Changed::Kind::problem;
    word.words = problem;
    last.told = false;  // it is tried again with the next change
  }
  say(options_.frames, word);
}

// The host deletes what it has read. Until then the file takes room that the job was not given.
bool Courier::wait_for_room(std::size_t bytes) {
  const auto until = Clock::now() + kRoomPatience;
  while (true) {
    std::size_t taken = 0;
    std::erase_if(files_, [&](const auto& file) {
      const bool gone = ::faccessat(options_.out, file.first.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0;
      if (!gone) taken += file.second;
      return gone;
    });
    if (taken == 0 || taken + bytes <= limits::kWatchedFileBytesMax) return true;
    if (Clock::now() > until) return false;
    const timespec pause{0, std::chrono::nanoseconds(kLookForRoomEvery).count()};
    ::nanosleep(&pause, nullptr);
  }
}

std::string Courier::write_file(const Pieces& stream, std::string& name) {
  if (!wait_for_room(stream.size())) return "values that were sent before have not been read yet";
  name = std::format("{}{}", kPartialFilePrefix, next_file_++);
  const int file = ::openat(options_.out, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  int error = file < 0 ? errno : 0;
  stream.each([&](std::string_view piece) {
    while (!piece.empty() && error == 0) {
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
    files_.emplace_back(name, stream.size());
    return {};
  }
  ::unlinkat(options_.out, name.c_str(), 0);
  name.clear();
  return std::format("it cannot be handed over: {}", std::strerror(error));
}

}  // namespace remotist::volunteer
