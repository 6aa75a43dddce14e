// Writes R values to files in the format of saveRDS(compress = FALSE). R's thread.
#pragma once

#include <string>

#include "volunteer/runner/r.h"

namespace remotist::volunteer {

// Writes a file in a folder and replaces an existing one. Returns an error message, or nothing.
std::string save_value(SEXP value, int folder, const char* name);
// Serializes the value without storing it.
void discard_value(SEXP value);

}  // namespace remotist::volunteer
