// One CaseRunner with every protection on and a neighbour, shared by all tests.
#pragma once

#include <string>
#include <string_view>

#include "tests/sandbox_cases/case_runner.h"

namespace remotist::volunteer::cases {

// Created by the first call.
CaseRunner& shared_runner();

// Runs a case and checks that it was tried, was contained, ended as the table says, did no harm, and that a
// plain guest completes after it.
CaseResult check_contained(std::string_view key);

// Checks the neighbour's result. The next case starts a new neighbour.
void check_neighbour();

// The output of an R expression, evaluated by Rscript in a folder.
std::string r_output(const std::filesystem::path& folder, const std::string& expression);

}  // namespace remotist::volunteer::cases
