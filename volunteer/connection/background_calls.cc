#include "volunteer/connection/background_calls.h"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace remotist::volunteer {

BackgroundCalls::BackgroundCalls(std::string name, std::size_t threads)
    : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      pool_(std::move(name), threads, std::numeric_limits<std::size_t>::max()) {
  if (event_ < 0) throw std::runtime_error{std::string{"eventfd: "} + std::strerror(errno)};
}

BackgroundCalls::~BackgroundCalls() {
  stop();
  pool_.abandon(std::chrono::milliseconds{0});
  pool_.stop();
  ::close(event_);
}

void BackgroundCalls::start(Call call) {
  (void)pool_.try_submit([this, call = std::move(call)](std::size_t thread) mutable {
    auto completion = call(thread);
    {
      const std::lock_guard lock{mutex_};
      completions_.push_back(std::move(completion));
    }
    const std::uint64_t one = 1;
    (void)!::write(event_, &one, sizeof one);
  });
}

void BackgroundCalls::run_completions() {
  std::uint64_t count = 0;
  (void)!::read(event_, &count, sizeof count);
  std::vector<Completion> completions;
  {
    const std::lock_guard lock{mutex_};
    completions.swap(completions_);
  }
  for (auto& completion : completions) completion();
}

}  // namespace remotist::volunteer
