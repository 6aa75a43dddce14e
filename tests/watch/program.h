// A random program of R that ends, prints what it does, and assigns in many ways. The same seed yields the
// same program.
#pragma once

#include <cstdint>
#include <string>

namespace remotist::volunteer::watched {

std::string random_program(std::uint64_t seed);

}  // namespace remotist::volunteer::watched
