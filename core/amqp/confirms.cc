#include "core/amqp/confirms.h"

#include <algorithm>
#include <cstdlib>

namespace remotist::amqp {

std::string_view name_of(PublishResult result) {
  switch (result) {
    case PublishResult::unknown:
      return "unknown";
    case PublishResult::confirmed:
      return "confirmed";
    case PublishResult::returned:
      return "returned";
    case PublishResult::refused:
      return "refused";
  }
  std::abort();
}

void Confirms::published(std::uint64_t tag) {
  if (publishes_.empty()) first_tag_ = tag;
  if (tag != first_tag_ + publishes_.size()) std::abort();
  publishes_.push_back(Publish::open);
  ++open_count_;
}

void Confirms::returned(std::uint64_t tag) {
  if (tag < first_tag_ || tag - first_tag_ >= publishes_.size()) return;
  Publish& publish = publishes_[tag - first_tag_];
  if (publish == Publish::open) publish = Publish::returned;
}

std::vector<Confirms::Settled> Confirms::settle(std::uint64_t tag, bool multiple, PublishResult result) {
  std::vector<Settled> settled;
  const std::uint64_t next_tag = first_tag_ + publishes_.size();
  // AMQP lets tag 0 with `multiple` stand for everything so far.
  const std::uint64_t end = tag >= next_tag || (multiple && tag == 0) ? next_tag : tag + 1;
  for (std::uint64_t at = multiple ? first_tag_ : std::max(tag, first_tag_); at < end; ++at) {
    Publish& publish = publishes_[at - first_tag_];
    if (publish == Publish::settled) continue;
    settled.push_back({at, publish == Publish::returned ? PublishResult::returned : result});
    publish = Publish::settled;
    --open_count_;
  }
  while (!publishes_.empty() && publishes_.front() == Publish::settled) {
    publishes_.pop_front();
    ++first_tag_;
  }
  return settled;
}

}  // namespace remotist::amqp
