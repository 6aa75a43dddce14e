#include "bench/agent_load/journal.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <unistd.h>

namespace remotist::bench {
namespace {

constexpr std::size_t kWaitingBytesMax = 1 << 20;

std::string unix_microseconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

}  // namespace

Journal::Journal(std::string path, bool at_once)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)),
      at_once_(at_once) {
  if (file_ < 0) {
    throw std::runtime_error{"cannot open the journal " + path_ + ": " + std::strerror(errno) +
                             "; give --journal a file that can be written"};
  }
}

Journal::~Journal() {
  if (file_ < 0) return;
  try {
    flush();
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "agent_load: %s\n", fault.what());
  }
  ::close(file_);
}

void Journal::assigned(const protocol::AttemptName& attempt) {
  add("assigned ", attempt, "", true);
}

void Journal::acknowledged(const protocol::AttemptName& attempt) {
  add("acknowledged ", attempt, " completed", true);
}

void Journal::stopped(const protocol::AttemptName& attempt) {
  add("stopped ", attempt, "", false);
}

void Journal::add(std::string_view event, const protocol::AttemptName& attempt, std::string_view more,
                  bool timed) {
  if (file_ < 0) return;
  waiting_.append(event).append(attempt.job.text()).append(" ");
  waiting_.append(std::to_string(attempt.number)).append(more);
  if (timed) waiting_.append(" ").append(unix_microseconds());
  waiting_.push_back('\n');
  if (at_once_ || waiting_.size() > kWaitingBytesMax) flush();
}

void Journal::flush() {
  while (!waiting_.empty()) {
    const ssize_t written = ::write(file_, waiting_.data(), waiting_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const std::string why = std::strerror(errno);
      waiting_.clear();
      throw std::runtime_error{"cannot write the journal " + path_ + ": " + why +
                               "; what a checker would read is not complete, so the run ends here"};
    }
    waiting_.erase(0, static_cast<std::size_t>(written));
  }
}

}  // namespace remotist::bench
