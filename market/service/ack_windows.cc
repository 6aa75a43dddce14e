#include "market/service/ack_windows.h"

#include "core/limits.h"

namespace remotist::market {

bool Inbound::begin(std::int64_t number, std::size_t bytes) {
  if (number != acknowledged_ + static_cast<std::int64_t>(open_.size()) + 1) return false;
  if (open_.size() >= limits::kUnackedMessagesMax) return false;
  // One message of any size is always in order, or a large one could never be sent.
  if (!open_.empty() && bytes_ + bytes > limits::kUnackedBytesMax) return false;
  open_.push_back({bytes});
  bytes_ += bytes;
  return true;
}

void Inbound::done(std::int64_t number) {
  open_[static_cast<std::size_t>(number - acknowledged_ - 1)].done = true;
  while (!open_.empty() && open_.front().done) {
    bytes_ -= open_.front().bytes;
    open_.pop_front();
    ++acknowledged_;
  }
}

bool Outbound::open() const {
  return sizes_.size() < limits::kUnackedMessagesMax && bytes_ < limits::kUnackedBytesMax;
}

void Outbound::send(std::size_t bytes) {
  sizes_.push_back(bytes);
  bytes_ += bytes;
}

bool Outbound::acknowledge(std::int64_t number) {
  if (number > acknowledged_ + static_cast<std::int64_t>(sizes_.size())) return false;
  for (; acknowledged_ < number; ++acknowledged_) {
    bytes_ -= sizes_.front();
    sizes_.pop_front();
  }
  return true;
}

}  // namespace remotist::market
