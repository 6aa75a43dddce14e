// RInside, apart from everything else: its headers are large and bring Rcpp with them.
#pragma once

namespace remotist::volunteer {

// Initialises R in this process, for good. May throw whatever RInside throws.
void start_rinside();

}  // namespace remotist::volunteer
