// Faults of the database, classed by what the caller must do. They are thrown; see core/result.h.
#pragma once

#include <stdexcept>
#include <string>

namespace remotist::pg {

class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The database could not be reached, or went away before anything was done. Trying again later is safe.
class Unavailable : public Fault {
 public:
  using Fault::Fault;
};

// The connection was lost while a commit was under way: it may or may not have happened. Never try again
// blindly; look for what the commit would have left behind (an idempotency key).
class CommitInDoubt : public Fault {
 public:
  using Fault::Fault;
};

// The database chose this transaction as a victim (serialisation, deadlock); nothing was done. transact()
// tries again by itself and throws this only when it has given up.
class Conflict : public Fault {
 public:
  using Fault::Fault;
};

// A named constraint refused the change; nothing was done. The store turns the ones it expects into refusals.
class ConstraintViolated : public Fault {
 public:
  ConstraintViolated(std::string constraint, const std::string& what)
      : Fault(what), constraint_(std::move(constraint)) {}
  const std::string& constraint() const { return constraint_; }

 private:
  std::string constraint_;
};

// A statement that does not fit the schema or its parameters: a bug of ours.
class QueryFailed : public Fault {
 public:
  using Fault::Fault;
};

}  // namespace remotist::pg
