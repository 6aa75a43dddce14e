#include "volunteer/sandbox/output_log.h"

#include <algorithm>
#include <format>

namespace remotist::volunteer {

OutputLog::OutputLog(std::size_t bytes_max) : head_max_(bytes_max / 2), tail_max_(bytes_max - head_max_) {}

OutputLog::OutputLog(std::size_t bytes_max, std::string_view kept, std::uint64_t left_out)
    : OutputLog(bytes_max) {
  add(kept);
  left_out_ += left_out;
}

void OutputLog::add(std::string_view bytes) {
  const std::size_t first = std::min(bytes.size(), head_max_ - head_.size());
  head_.append(bytes.substr(0, first));
  bytes.remove_prefix(first);
  if (bytes.empty()) return;
  if (bytes.size() >= tail_max_) {
    left_out_ += tail_.size() + bytes.size() - tail_max_;
    tail_ = bytes.substr(bytes.size() - tail_max_);
    tail_begin_ = 0;
    return;
  }
  const std::size_t grown = std::min(bytes.size(), tail_max_ - tail_.size());
  tail_.append(bytes.substr(0, grown));
  bytes.remove_prefix(grown);
  left_out_ += bytes.size();
  for (const char byte : bytes) {
    tail_[tail_begin_] = byte;
    tail_begin_ = (tail_begin_ + 1) % tail_max_;
  }
}

std::string OutputLog::text() const {
  std::string all = head_;
  if (left_out_ > 0) all += std::format("\n[... {} bytes left out ...]\n", left_out_);
  append_tail(all);
  return all;
}

std::string OutputLog::kept() const {
  std::string all = head_;
  append_tail(all);
  return all;
}

void OutputLog::append_tail(std::string& to) const {
  to.append(tail_, tail_begin_);
  to.append(tail_, 0, tail_begin_);
}

}  // namespace remotist::volunteer
