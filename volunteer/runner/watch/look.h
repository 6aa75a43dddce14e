// What a watched name holds now, seen without disturbing it: no promise is forced, no active binding called,
// nothing copied.
//
// R's thread.
#pragma once

#include <string>

#include "core/watch_name.h"
#include "volunteer/runner/r.h"

namespace remotist::volunteer {

struct Sight {
  enum class Kind {
    value,
    nothing,    // no such variable or element
    undecided,  // a promise that nobody has asked for yet
    problem,    // it cannot be shown: `words` says why
  } kind;
  SEXP value = nullptr;  // with value; may be a fresh one that nobody else holds
  const char* words = "";
  bool in_environment = false;  // the way to it led through one: it can change without an assignment
};

// The global variable itself.
Sight look_at(SEXP symbol);
// The element that a name's steps lead to.
Sight look_into(Sight sight, const WatchName& name);
// Whether it can be shown at all: a function, a connection or a pointer means nothing elsewhere.
Sight showable(Sight sight);

}  // namespace remotist::volunteer
