// The name of a watched variable as a client writes it: a global variable of the script or an element of one,
// and an optional rule that selects which of its changes are recorded. client-r/R/watch_name.R has the same
// parser in R; both are tested with client-r/tests/testthat/watch-names.json.
//
//   name      = variable *element [" every " seconds | " by " fraction]
//   variable  = a name as R takes it, or any name in backticks
//   element   = "$" variable | "@" variable | "[[" whole number from 1 "]]" | "[[" '"' text '"' "]]"
//
//   fit$loss    state@n    x[[2]]    temperature every 5    loss by 0.01
//
// Pure. Any other text is refused with the position of the mistake.
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
    fraction,  // only when a number differs from the last recorded one by more than this part of it
  } kind = Kind::every_change;
  double amount = 0;
};

struct WatchName {
  std::string variable;
  std::vector<WatchStep> steps{};
  WatchRule rule{};
};

inline constexpr std::size_t kWatchStepsMax = 16;
inline constexpr std::size_t kWatchIndexMax = (1ULL << 53) - 1;  // exact in R, too
inline constexpr double kWatchSecondsMax = 86'400;
inline constexpr double kWatchFractionMax = 1'000'000;

struct WatchNameError {
  std::size_t character;  // where the parser stopped, from 1; 0: the text as a whole is refused
  std::string detail;     // for the person who wrote the name; has the position, too
};

std::expected<WatchName, WatchNameError> parse_watch_name(std::string_view text);

}  // namespace remotist
