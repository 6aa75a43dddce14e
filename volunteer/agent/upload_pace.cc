#include "volunteer/agent/upload_pace.h"

namespace remotist::volunteer {

bool UploadPace::wait(std::size_t bytes, const UploadControl& control, const std::atomic<bool>& stopping) {
  std::unique_lock lock{mutex_};
  // The first upload after a debt waits, not the one that makes it: so a frame of any size is sent some time.
  while (!control.hurried && !control.cancelled && !stopping) {
    const auto now = Clock::now();
    if (!bucket_.in_debt(now)) break;
    changed_.wait_until(lock, bucket_.available_at(0, now));
  }
  if (!control.hurried) bucket_.charge(static_cast<double>(bytes), Clock::now());
  return !control.cancelled && !stopping;
}

void UploadPace::wake() {
  const std::lock_guard lock{mutex_};
  changed_.notify_all();
}

}  // namespace remotist::volunteer
