// The present value of a watched name, read without side effects: no promise is forced, no active binding is
// called, no vector is copied.
//
// R's thread. A PeekedValue does not protect its value from R's collector: the caller does before anything
// allocates.
//
// Invariants: `value` is set exactly with Kind::value, and `reason` is empty unless the kind is problem; it
// is a string literal. Once in_environment is set, it stays set for all elements below. No code of the script
// is run, whatever the value is.
#pragma once

#include <string>

#include "core/watch_name.h"
#include "volunteer/runner/r.h"

namespace remotist::volunteer {

struct PeekedValue {
  enum class Kind {
    value,
    absent,       // no such variable or element
    unevaluated,  // a promise that was not forced yet
    problem,      // it cannot be shown: `reason` says why
  } kind;
  SEXP value = nullptr;  // with Kind::value; may be a new object that nothing else refers to
  const char* reason = "";
  bool in_environment = false;  // reached through an environment: it can change without an assignment
};

// The global variable itself.
PeekedValue peek(SEXP symbol);
// The element that the steps of a name lead to.
PeekedValue peek_element(PeekedValue peeked, const WatchName& name);
// Turns a value that means nothing in another process (a function, a connection, a pointer) into a problem.
PeekedValue refuse_unshowable(PeekedValue peeked);

}  // namespace remotist::volunteer
