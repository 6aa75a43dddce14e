// Brings a database to the schema that this binary carries, and tells whether it is there.
#pragma once

#include <string>
#include <vector>

#include "core/pg/session.h"

namespace remotist::pg {

// Applies what is missing, each migration in a transaction of its own, under a lock of the whole database, so
// that any number of processes may call it at once. Returns the names of the migrations that this call
// applied. Throws SchemaMismatch when it cannot: TimescaleDB is missing, an applied migration differs from
// ours, or the database is newer than this binary.
std::vector<std::string> migrate(const std::string& url);

// Throws SchemaMismatch unless the database has exactly the schema of this binary.
void require_schema(Session& session);

// The same, for programs that start in any order: a database that is not there yet is waited for, up to a
// minute; one with another schema is not.
void await_schema(const std::string& url);

class SchemaMismatch : public Fault {
 public:
  using Fault::Fault;
};

}  // namespace remotist::pg
