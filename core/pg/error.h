// Exceptions of the database layer, one class for each reaction that a caller needs.
#pragma once

#include <stdexcept>
#include <string>

namespace remotist::pg {

class Fault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The database could not be reached, or was lost before anything was changed. A retry is safe.
class Unavailable : public Fault {
 public:
  using Fault::Fault;
};

// The connection was lost during a commit, which may or may not have happened. Never retry without looking
// for the commit's effect first (by its idempotency key).
class CommitInDoubt : public Fault {
 public:
  using Fault::Fault;
};

// The transaction was aborted (serialization failure, deadlock) and changed nothing. transact() retries by
// itself and throws this after its last try.
class Conflict : public Fault {
 public:
  using Fault::Fault;
};

// A named constraint rejected the change; nothing was changed. store/ turns the expected ones into refusals.
class ConstraintViolated : public Fault {
 public:
  ConstraintViolated(std::string constraint, const std::string& what)
      : Fault(what), constraint_(std::move(constraint)) {}
  const std::string& constraint() const { return constraint_; }

 private:
  std::string constraint_;
};

// A statement does not match the schema or its parameters: a programming error.
class QueryFailed : public Fault {
 public:
  using Fault::Fault;
};

}  // namespace remotist::pg
