// A value of R in a file, in the format of saveRDS(compress = FALSE).
#pragma once

#include <string>

#include "volunteer/runner/r.h"

namespace remotist::volunteer {

// Writes it in a folder, over whatever has that name. Returns what went wrong, or nothing.
std::string save_value(SEXP value, int folder, const char* name);
// The same to nowhere.
void discard_value(SEXP value);

}  // namespace remotist::volunteer
