// Which failed requests are retried, how often, and after which delays.
#pragma once

#include <algorithm>
#include <chrono>
#include <string_view>

#include "core/code.h"
#include "volunteer/connection/clock.h"

namespace remotist::volunteer {

inline constexpr int kTransferFailuresMax = 8;  // in a row

// Whether the same request may succeed later; `code` is the market's, or no_answer. Every request of an agent
// is idempotent, so that it may be repeated when it is not known whether it succeeded.
inline bool is_retryable(std::string_view code) {
  const auto known = code_named(code);
  return code == "no_answer" || (known && (row_of(*known).retryable || *known == Code::commit_in_doubt));
}

// Half a second, doubled with each failure, up to half a minute.
inline Clock::duration retry_delay(int failures) {
  using namespace std::chrono_literals;
  return std::min<Clock::duration>(30s, 500ms * (1 << std::min(failures, 8)));
}

}  // namespace remotist::volunteer
