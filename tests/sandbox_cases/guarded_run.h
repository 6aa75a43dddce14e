// What sandbox_guarded says about cases whose sandbox is not whole.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace remotist::volunteer::cases {

struct Outcome {
  std::string result;  // escaped, contained, untried; gone when nothing was said about it
  std::string words;
};

// Runs it with these arguments; what it said, by key.
std::map<std::string, Outcome> run_guarded_cases(const std::vector<std::string>& options,
                                                 const std::vector<std::string>& keys);

}  // namespace remotist::volunteer::cases
