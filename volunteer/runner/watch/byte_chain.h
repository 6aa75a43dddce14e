// A run of bytes in segments: some are copies that the chain owns, some refer to memory of R's vectors.
//
// Invariants: the segments in their order are the whole run, and total_ is the sum of their sizes; copies lie
// in copied_ in the same order. The chain does not own memory that it refers to: whoever made it keeps those
// vectors alive and unchanged (PinnedVectors) until the chain was read for the last time. Reading needs
// nothing of R, so another thread may do it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace remotist::volunteer {

class ByteChain {
 public:
  void copy(const char* bytes, std::size_t count) {
    if (segments_.empty() || segments_.back().from != nullptr)
      segments_.push_back({nullptr, copied_.size(), 0});
    segments_.back().count += count;
    copied_.append(bytes, count);
    total_ += count;
  }
  // Allocates for so many bytes to copy.
  void reserve(std::size_t count) { copied_.reserve(count); }
  // Requires that the bytes stay where and as they are.
  void refer(const char* bytes, std::size_t count) {
    if (!segments_.empty() && segments_.back().from != nullptr &&
        segments_.back().from + segments_.back().count == bytes) {
      segments_.back().count += count;
    } else {
      segments_.push_back({bytes, 0, count});
    }
    total_ += count;
  }
  std::size_t size() const { return total_; }
  // The copies alone.
  const std::string& copied() const { return copied_; }

  template <class Visit>
  void each_segment(Visit visit) const {
    for (const auto& segment : segments_) visit(view(segment));
  }
  std::size_t segment_count() const { return segments_.size(); }
  std::string_view segment(std::size_t index) const { return view(segments_[index]); }

 private:
  struct Segment {
    const char* from;
    std::size_t offset;  // in copied_, where from is null
    std::size_t count;
  };
  std::string_view view(const Segment& segment) const {
    return {segment.from != nullptr ? segment.from : copied_.data() + segment.offset, segment.count};
  }

  std::vector<Segment> segments_;
  std::string copied_;
  std::size_t total_ = 0;
};

}  // namespace remotist::volunteer
