// The numbered messages of one volunteer connection (docs/protocol.md): those sent and not yet acknowledged,
// those received and not yet processed. Market and agent use the same windows with the same limits
// (limits::kUnackedMessagesMax, limits::kUnackedBytesMax).
//
// Bookkeeping only: no socket, no clock. One pair for each connection, because numbers begin at 1 on each.
// Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "core/limits.h"

namespace remotist {

// Messages sent to the other side. `Note` is what the sender remembers about each until its acknowledgement.
template <class Note>
class SendWindow {
 public:
  // How many bytes the next message may have; 0 when the limit on messages or bytes is reached.
  std::size_t room_bytes() const {
    if (open_.size() >= limits::kUnackedMessagesMax || bytes_ >= limits::kUnackedBytesMax) return 0;
    return limits::kUnackedBytesMax - bytes_;
  }
  bool has_room(std::size_t bytes) const { return bytes <= room_bytes(); }
  // Whether the limits allow one more message. The market sends it whatever its size.
  bool is_open() const { return room_bytes() > 0; }

  std::int64_t next_number() const { return sent_ + 1; }
  // Records that a message of so many bytes has been sent. The caller has checked the limits.
  void add(Note note, std::size_t bytes) {
    ++sent_;
    bytes_ += bytes;
    open_.push_back({std::move(note), bytes});
  }

  // Null when the message was never sent or is acknowledged already.
  Note* find(std::int64_t number) {
    const auto first = first_open();
    if (number < first || number > sent_) return nullptr;
    return &open_[static_cast<std::size_t>(number - first)].note;
  }
  // Calls change(Note&) for each unacknowledged message.
  template <class Change>
  void for_each(Change change) {
    for (auto& message : open_) change(message.note);
  }

  bool was_sent(std::int64_t number) const { return number <= sent_; }
  // Removes the messages up to this number and returns their notes in the order of sending. Numbers that were
  // never sent are ignored.
  std::vector<Note> acknowledge(std::int64_t up_to) {
    std::vector<Note> notes;
    while (!open_.empty() && first_open() <= up_to) {
      bytes_ -= open_.front().bytes;
      notes.push_back(std::move(open_.front().note));
      open_.pop_front();
    }
    return notes;
  }

  std::size_t unacknowledged() const { return open_.size(); }

 private:
  std::int64_t first_open() const { return sent_ - static_cast<std::int64_t>(open_.size()) + 1; }

  struct Open {
    Note note;
    std::size_t bytes;
  };
  std::deque<Open> open_;  // the last of those sent, without gaps
  std::size_t bytes_ = 0;
  std::int64_t sent_ = 0;
};

// Messages received from the other side. They may be processed in any order and are acknowledged in theirs.
class ReceiveWindow {
 public:
  // False when the number is not the next one, or when the limits are exceeded.
  [[nodiscard]] bool begin(std::int64_t number, std::size_t bytes);
  // Requires a number that has begun and is not done.
  void done(std::int64_t number);
  // Every message up to this one is done.
  std::int64_t acknowledged() const { return acknowledged_; }

 private:
  struct Open {
    std::size_t bytes;
    bool done = false;
  };
  std::int64_t acknowledged_ = 0;
  std::size_t bytes_ = 0;
  std::deque<Open> open_;  // from acknowledged_ + 1 on
};

}  // namespace remotist
