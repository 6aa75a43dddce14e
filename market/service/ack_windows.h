// The numbers of messages on one connection: what came and is not dealt with, what was sent and is not
// acknowledged. Neither may grow past the protocol's limits. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

namespace remotist::market {

// What the other side sends. Messages may be dealt with in any order; they are acknowledged in theirs.
class Inbound {
 public:
  // False when the number is not the next one, or more is open than may be.
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

// What we send.
class Outbound {
 public:
  // Whether one more may be sent now.
  bool open() const;
  // The number of the message that is sent next.
  std::int64_t next() const { return acknowledged_ + static_cast<std::int64_t>(sizes_.size()) + 1; }
  void send(std::size_t bytes);
  // False when the other side acknowledges what was never sent.
  [[nodiscard]] bool acknowledge(std::int64_t number);
  std::size_t unacknowledged() const { return sizes_.size(); }

 private:
  std::int64_t acknowledged_ = 0;
  std::size_t bytes_ = 0;
  std::deque<std::size_t> sizes_;  // from acknowledged_ + 1 on
};

}  // namespace remotist::market
