// How often, and after which pauses, what failed is tried again.
#pragma once

#include <algorithm>
#include <chrono>
#include <string_view>

#include "core/code.h"
#include "volunteer/connection/window.h"

namespace remotist::volunteer {

inline constexpr int kTransferFailuresMax = 8;  // in a row

// Whether the same request, unchanged, may succeed later; `code` is the market's, or no_answer. All that an
// agent sends has the same effect when it arrives twice, so that it need not know whether it was done.
inline bool may_succeed_later(std::string_view code) {
  const auto known = code_named(code);
  return code == "no_answer" || (known && (row_of(*known).retryable || *known == Code::commit_in_doubt));
}

inline Clock::duration pause_after(int failures) {
  using namespace std::chrono_literals;
  return std::min<Clock::duration>(30s, 500ms * (1 << std::min(failures, 8)));
}

}  // namespace remotist::volunteer
