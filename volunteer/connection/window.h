// What a machine has said on one connection and the market has not yet acknowledged.
//
// Bookkeeping only: no socket, no clock of its own. One per connection, because numbers begin at 1 on each.
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "core/protocol.h"

namespace remotist::volunteer {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

// What a message was about, kept until its acknowledgement.
struct Sent {
  enum class Kind : std::uint8_t {
    hello,
    accept,
    refuse,
    beat,
    partials,
    outcome,
    aside,  // an outcome that changes nothing, or a lie: nobody waits for what becomes of it
    renew,
    goodbye,
  };
  Kind kind;
  std::vector<protocol::AttemptName> attempts;
  Time at;
  std::int64_t number = 0;  // from here on Window's
  std::size_t bytes = 0;
};

class Window {
 public:
  // Whether a message of so many bytes may be said now.
  bool has_room(std::size_t bytes) const;
  // How many bytes the next message may have; 0 when so many messages are open already.
  std::size_t room_bytes() const;

  // The number that the next message has.
  std::int64_t next_number() const { return said_ + 1; }
  // Requires has_room(bytes).
  void sent(Sent what, std::size_t bytes);

  // Null when that message is not open: it was never said, or is acknowledged already.
  Sent* find(std::int64_t number);
  // The market has not done what open messages say about the attempt: they speak of it no longer.
  void strike_out(const protocol::AttemptName& attempt);

  // Whether a message of that number was said at all.
  bool was_said(std::int64_t number) const { return number <= said_; }
  // What that acknowledges, in the order in which it was said. Numbers never said are left out.
  std::vector<Sent> acknowledged(std::int64_t up_to);

  std::size_t open() const { return open_.size(); }
  std::size_t open_bytes() const { return open_bytes_; }

 private:
  std::deque<Sent> open_;  // without gaps
  std::size_t open_bytes_ = 0;
  std::int64_t said_ = 0;
};

}  // namespace remotist::volunteer
