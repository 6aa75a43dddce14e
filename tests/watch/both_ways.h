// A script run plain and watched: everything about it that its owner can see must be the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/watch/watched_run.h"

namespace remotist::volunteer::watched {

struct BothWays {
  Run plain;
  Run watched;
  std::vector<std::string> differences;  // for a person; empty: none
};

// What a script seems to assign to, at most as many as may be watched.
std::vector<std::string> names_in(const std::string& script);

// What of the two an owner could tell apart, for a person. The values at the end: by their hash, or as
// tests/checkpoint/compare.R sees them.
enum class Values : std::uint8_t { by_hash, by_r };
std::vector<std::string> differences_between(const Run& plain, const Run& other, Values values);

// Runs it plain, then watched.
BothWays run_both_ways(const std::string& script, const std::vector<std::string>& names);

}  // namespace remotist::volunteer::watched
