// A run of bytes in pieces: some copied, some still in the vectors of R that they were found in.
//
// Whoever holds the vectors sees to it that they stay as they are; reading needs nothing of R.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace remotist::volunteer {

class Pieces {
 public:
  void copy(const char* bytes, std::size_t count) {
    if (list_.empty() || list_.back().from != nullptr) list_.push_back({nullptr, copied_.size(), 0});
    list_.back().count += count;
    copied_.append(bytes, count);
    total_ += count;
  }
  // Room for so many bytes to copy.
  void reserve(std::size_t count) { copied_.reserve(count); }
  // The bytes stay where they are.
  void refer(const char* bytes, std::size_t count) {
    if (!list_.empty() && list_.back().from != nullptr && list_.back().from + list_.back().count == bytes) {
      list_.back().count += count;
    } else {
      list_.push_back({bytes, 0, count});
    }
    total_ += count;
  }
  std::size_t size() const { return total_; }
  // What was copied, without what was referred to.
  const std::string& copied() const { return copied_; }

  template <class Visit>
  void each(Visit visit) const {
    for (const auto& piece : list_) visit(view(piece));
  }
  std::size_t count() const { return list_.size(); }
  std::string_view at(std::size_t index) const { return view(list_[index]); }

 private:
  struct Piece {
    const char* from;
    std::size_t offset;  // in copied_, where from is null
    std::size_t count;
  };
  std::string_view view(const Piece& piece) const {
    return {piece.from != nullptr ? piece.from : copied_.data() + piece.offset, piece.count};
  }

  std::vector<Piece> list_;
  std::string copied_;
  std::size_t total_ = 0;
};

}  // namespace remotist::volunteer
