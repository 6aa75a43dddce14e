#include "volunteer/connection/errands.h"

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

Errands::Errands(std::string name, std::size_t threads)
    : event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      pool_(std::move(name), threads, std::numeric_limits<std::size_t>::max()) {
  if (event_ < 0) throw std::runtime_error{std::string{"eventfd: "} + std::strerror(errno)};
}

Errands::~Errands() {
  stop();
  pool_.abandon(std::chrono::milliseconds{0});
  pool_.stop();
  ::close(event_);
}

void Errands::run(Errand errand) {
  (void)pool_.try_submit([this, errand = std::move(errand)](std::size_t thread) mutable {
    auto back = errand(thread);
    {
      const std::lock_guard lock{mutex_};
      returned_.push_back(std::move(back));
    }
    const std::uint64_t one = 1;
    (void)!::write(event_, &one, sizeof one);
  });
}

void Errands::take_returns() {
  std::uint64_t count = 0;
  (void)!::read(event_, &count, sizeof count);
  std::vector<Return> returned;
  {
    const std::lock_guard lock{mutex_};
    returned.swap(returned_);
  }
  for (auto& back : returned) back();
}

}  // namespace remotist::volunteer
