// RInside in a translation unit of its own: its headers are large and include Rcpp.
#pragma once

namespace remotist::volunteer {

// Initialises R in this process for its lifetime. Throws what RInside throws.
void start_rinside();

}  // namespace remotist::volunteer
