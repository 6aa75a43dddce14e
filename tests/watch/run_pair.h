// A script run without and with watched variables: everything that its owner can see of it must be the same.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/watch/watched_run.h"

namespace remotist::volunteer::watched {

struct RunPair {
  Run plain;
  Run watched;
  std::vector<std::string> differences;  // for people to read; empty: none
};

// Names that a script seems to assign to, at most as many as may be watched.
std::vector<std::string> names_in(const std::string& script);

// What an owner could tell apart in two runs, for people to read. Values at the end are compared by their
// hash, or by tests/checkpoint/compare.R.
enum class Values : std::uint8_t { by_hash, by_r };
std::vector<std::string> differences_between(const Run& plain, const Run& other, Values values);

// Runs it without, then with these names watched.
RunPair run_plain_and_watched(const std::string& script, const std::vector<std::string>& names);

}  // namespace remotist::volunteer::watched
