// Matches the broker's confirms to the publishes of one connection.
//
// Has neither clock nor socket. One per connection, because tags start at 1 on each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

namespace remotist::amqp {

enum class PublishResult : std::uint8_t {
  unknown,    // no answer: the connection was lost or the time ran out. It may have arrived, now or later
  confirmed,  // every queue that it was routed to has it
  returned,   // mandatory, and no queue takes it
  refused,    // the broker could not store it
};

std::string_view name_of(PublishResult result);

class Confirms {
 public:
  struct Settled {
    std::uint64_t tag;
    PublishResult result;
  };

  // Requires tags without gaps, as the broker counts them.
  void published(std::uint64_t tag);

  // The broker still confirms what it returns. Tags that are not open are ignored, here and below.
  void returned(std::uint64_t tag);

  // Both return the publishes that are now settled, in the order of their tags.
  std::vector<Settled> confirmed(std::uint64_t tag, bool multiple) {
    return settle(tag, multiple, PublishResult::confirmed);
  }
  std::vector<Settled> refused(std::uint64_t tag, bool multiple) {
    return settle(tag, multiple, PublishResult::refused);
  }

  std::size_t open() const { return open_count_; }

 private:
  enum class Publish : std::uint8_t { open, returned, settled };

  std::vector<Settled> settle(std::uint64_t tag, bool multiple, PublishResult result);

  std::deque<Publish> publishes_;  // the front is the oldest open one
  std::uint64_t first_tag_ = 0;    // of the front
  std::size_t open_count_ = 0;
};

}  // namespace remotist::amqp
