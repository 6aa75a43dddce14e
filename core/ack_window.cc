#include "core/ack_window.h"

namespace remotist {

bool ReceiveWindow::begin(std::int64_t number, std::size_t bytes) {
  if (number != acknowledged_ + static_cast<std::int64_t>(open_.size()) + 1) return false;
  if (open_.size() >= limits::kUnackedMessagesMax) return false;
  // A single message may have any size, or a large one could never be sent.
  if (!open_.empty() && bytes_ + bytes > limits::kUnackedBytesMax) return false;
  open_.push_back({bytes});
  bytes_ += bytes;
  return true;
}

void ReceiveWindow::done(std::int64_t number) {
  open_[static_cast<std::size_t>(number - acknowledged_ - 1)].done = true;
  while (!open_.empty() && open_.front().done) {
    bytes_ -= open_.front().bytes;
    open_.pop_front();
    ++acknowledged_;
  }
}

}  // namespace remotist
