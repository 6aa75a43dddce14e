// The house in which the cases run with the whole sandbox up: one for all of them, with a neighbour.
#pragma once

#include <string>
#include <string_view>

#include "tests/sandbox_cases/house.h"

namespace remotist::volunteer::cases {

// Made at the first question.
House& whole_house();

// Runs the case and checks that it was tried, that it was contained, that it ended as it should, that nothing
// was harmed, and that a plain guest completes after it.
Seen holds(std::string_view key);

// Checks that the neighbour's answer is right. The next case gets a new one.
void neighbour_is_well();

// What R prints for the expression, in a process of its own with `folder` as its working directory.
std::string r_says(const std::filesystem::path& folder, const std::string& expression);

}  // namespace remotist::volunteer::cases
