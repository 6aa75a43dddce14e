// What a client wrote to name a watched variable: a global variable of the script or an element of one, and a
// rule that says which of its changes are told.
//
//   name      = variable *element [" every " seconds | " by " fraction]
//   variable  = a name as R takes it, or any name in backticks
//   element   = "$" variable | "@" variable | "[[" whole number from 1 "]]" | "[[" '"' text '"' "]]"
//
//   fit$loss    state@n    x[[2]]    temperature every 5    loss by 0.01
//
// Pure. Everything else is refused with words for the person who wrote it.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace remotist {

struct WatchStep {
  enum class Kind { dollar, slot, index } kind;
  std::string name{};      // dollar, slot, or index by a text
  std::size_t number = 0;  // index by a number, from 1; 0: by name
};

struct WatchRule {
  enum class Kind {
    every_change,
    seconds,   // at most one record in so many; the newest value wins
    fraction,  // only when a number has moved by more than this part of what was last told
  } kind = Kind::every_change;
  double amount = 0;
};

struct WatchName {
  std::string variable;
  std::vector<WatchStep> steps{};
  WatchRule rule{};
};

inline constexpr std::size_t kWatchStepsMax = 16;
inline constexpr double kWatchSecondsMax = 86'400;
inline constexpr double kWatchFractionMax = 1'000'000;

std::expected<WatchName, std::string> parse_watch_name(std::string_view text);

}  // namespace remotist
