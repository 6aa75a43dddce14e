#include "core/amqp/wake.h"

#include <cerrno>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

namespace remotist::amqp {

Wake::Wake() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ < 0) throw std::system_error{errno, std::generic_category(), "eventfd"};
}

Wake::~Wake() {
  close(fd_);
}

void Wake::stop() noexcept {
  stopped_.store(true);
  signal();
}

void Wake::nudge() noexcept {
  nudged_.store(true);
  signal();
}

void Wake::drain() noexcept {
  eventfd_t count = 0;
  eventfd_read(fd_, &count);
}

void Wake::signal() noexcept {
  eventfd_write(fd_, 1);
}

}  // namespace remotist::amqp
