// Bounds how many bytes a second the uploads of checkpoints send together, so that they leave the machine's
// owner the rest of the network. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>

#include "core/token_bucket.h"
#include "volunteer/connection/clock.h"

namespace remotist::volunteer {

// What the agent's thread tells the uploads of one attempt.
struct UploadControl {
  std::atomic<bool> cancelled{false};
  std::atomic<bool> hurried{false};  // not slowed
};

class UploadPace {
 public:
  // Requires bytes_per_second > 0. After a pause a second's bytes may be sent at once.
  explicit UploadPace(double bytes_per_second) : bucket_(bytes_per_second, bytes_per_second, Clock::now()) {}

  // Waits until so many more bytes may be sent, or until they are hurried; false when the upload is cancelled
  // or `stopping`.
  [[nodiscard]] bool wait(std::size_t bytes, const UploadControl& control, const std::atomic<bool>& stopping);
  // After a change of a control, or of `stopping`.
  void wake();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  TokenBucket bucket_;
};

}  // namespace remotist::volunteer
