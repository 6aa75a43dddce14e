// R's table of its builtin functions, whose entries can be replaced.
#pragma once

#include <cstring>
#include <string_view>

#include "volunteer/runner/r.h"

extern "C" {
using RFunction = SEXP (*)(SEXP call, SEXP op, SEXP args, SEXP rho);
// The layout in Defn.h, which R does not install.
struct RTableEntry {
  const char* name;
  RFunction function;
  int code;
  int eval;
  int arity;
  int kind;
  int precedence;
  unsigned int right;
};
extern RTableEntry R_FunTab[];
Rboolean R_existsVarInFrame(SEXP environment, SEXP symbol);
}

namespace remotist::volunteer {

// Whether the table has the expected layout; find entries only then.
inline bool knows_table() {
  static constexpr const char* kFirst[] = {"if", "while", "for", "repeat"};
  for (int i = 0; i < 4; ++i) {
    if (std::strcmp(R_FunTab[i].name, kFirst[i]) != 0) return false;
  }
  return true;
}

inline RTableEntry* entry_called(std::string_view name) {
  for (auto* entry = R_FunTab; entry->name != nullptr; ++entry) {
    if (name == entry->name) return entry;
  }
  return nullptr;
}

}  // namespace remotist::volunteer
