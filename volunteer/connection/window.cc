#include "volunteer/connection/window.h"

#include <cstdlib>
#include <utility>

#include "core/limits.h"

namespace remotist::volunteer {

bool Window::has_room(std::size_t bytes) const {
  return bytes <= room_bytes();
}

std::size_t Window::room_bytes() const {
  return open_.size() < limits::kUnackedMessagesMax ? limits::kUnackedBytesMax - open_bytes_ : 0;
}

void Window::sent(Sent what, std::size_t bytes) {
  if (!has_room(bytes)) std::abort();
  what.number = ++said_;
  what.bytes = bytes;
  open_bytes_ += bytes;
  open_.push_back(std::move(what));
}

Sent* Window::find(std::int64_t number) {
  if (open_.empty() || number < open_.front().number || number > open_.back().number) return nullptr;
  return &open_[static_cast<std::size_t>(number - open_.front().number)];
}

void Window::strike_out(const protocol::AttemptName& attempt) {
  for (auto& message : open_) std::erase(message.attempts, attempt);
}

std::vector<Sent> Window::acknowledged(std::int64_t up_to) {
  std::vector<Sent> settled;
  while (!open_.empty() && open_.front().number <= up_to) {
    open_bytes_ -= open_.front().bytes;
    settled.push_back(std::move(open_.front()));
    open_.pop_front();
  }
  return settled;
}

}  // namespace remotist::volunteer
