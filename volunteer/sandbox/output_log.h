// The output of a guest within a fixed number of bytes: the beginning and the end, half each, with a line in
// between that says how much was left out. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace remotist::volunteer {

class OutputLog {
 public:
  explicit OutputLog(std::size_t bytes_max);
  // Continues a log of the same size, given its kept() and left_out(). Bytes beyond bytes_max count as left
  // out.
  OutputLog(std::size_t bytes_max, std::string_view kept, std::uint64_t left_out);

  void add(std::string_view bytes);
  // At most bytes_max bytes plus that line.
  std::string text() const;
  // The same without that line: at most bytes_max bytes.
  std::string kept() const;
  std::uint64_t left_out() const { return left_out_; }

 private:
  void append_tail(std::string& to) const;

  std::size_t head_max_;
  std::size_t tail_max_;
  std::string head_;
  std::string tail_;  // a ring once it is full
  std::size_t tail_begin_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace remotist::volunteer
